import type { Outcome, SendRequest, WebhookSender } from '@org/agent-messaging-core/runtime'
import type { OutboundHttp } from '../outbound-http.js'
import type { HttpResponse } from '../response.js'
import { parseRetryAfter } from '../retry-after.js'

/** How much of a receiver's response is stored. */
const MAX_BODY_BYTES = 16 * 1024

/** Dates in `Retry-After` count from `now`. */
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
        maxBodyBytes: MAX_BODY_BYTES,
      })
      return outcome.kind === 'response' ? outcomeOf(outcome, now()) : outcome
    },
  }
}

/** Only a 2xx is a success. A redirect is a refusal. */
function outcomeOf({ statusCode, headers, body }: HttpResponse, now: number): Outcome {
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

/** Replaces NUL, which some stores refuse. Decoded UTF-8 contains no lone surrogates. */
const storableText = (bytes: Buffer) => bytes.toString('utf8').replaceAll('\0', '\uFFFD')
