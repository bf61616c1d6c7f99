import type { Outcome, SendRequest, WebhookSender } from '@org/agent-messaging-core/runtime'
import type { HttpResponse } from './answer.js'
import type { OutboundHttp } from './outbound-http.js'
import { parseRetryAfter } from './retry-after.js'

/** How much of a receiver's answer is kept. */
const KEPT_BYTES = 16 * 1024

/** `now` is what a date in `Retry-After` is measured against. */
export function httpWebhookSender(
  http: Pick<OutboundHttp, 'send' | 'vet'>,
  { now = Date.now }: { readonly now?: () => number } = {},
): WebhookSender {
  return {
    vet: (url) => http.vet(url),
    send: async ({ url, headers, body, deadlineMs }: SendRequest) => {
      const outcome = await http.send({
        method: 'POST',
        url,
        headers,
        body,
        deadlineMs,
        maxBodyBytes: KEPT_BYTES,
      })
      return outcome.kind === 'response' ? judge(outcome, now()) : outcome
    },
  }
}

/** S§6: a 2xx is success, and nothing else is; a redirect is a refusal like any other. */
function judge({ statusCode, headers, body }: HttpResponse, now: number): Outcome {
  const responseBody = storableText(body)
  if (statusCode >= 200 && statusCode < 300) return { kind: 'accepted', statusCode, responseBody }
  const retryAfterMs = parseRetryAfter(headers['retry-after'], now)
  return {
    kind: 'refused',
    statusCode,
    responseBody,
    ...(retryAfterMs !== undefined && { retryAfterMs }),
  }
}

/** Decoding UTF-8 never yields a lone surrogate; NUL is the one character left that a store may refuse. */
const storableText = (bytes: Buffer): string => bytes.toString('utf8').replaceAll('\0', '\uFFFD')
