import {
  withCustomHeaders,
  withoutHeaderValues,
  withRedactedHeaders,
  type CustomHeaders,
} from '../domain/webhooks/custom-headers.js'
import type { Sealed } from '../domain/values/sealed.js'
import { signatureHeaders } from '../domain/webhooks/signature.js'
import {
  signingSecrets,
  webhookHeadersContext,
  webhookSecretContext,
} from '../domain/webhooks/webhook.js'
import { isTaskHook } from '../domain/messages/message-hook.js'
import { TASK_TYPE } from '../domain/messages/task-body.js'
import type { Outcome } from '../domain/webhooks/delivery.js'
import type { AttemptMaker, AttemptOrder } from '../ports/attempt-maker.js'
import type { Clock, Crypto } from '../ports/platform.js'
import type { WebhookSender } from '../ports/webhook-sender.js'
import type { AttemptPolicy } from '../policy.js'

export type AttemptMakerOptions = {
  readonly clock: Clock
  readonly crypto: Crypto
  readonly sender: Pick<WebhookSender, 'send'>
  readonly policy: AttemptPolicy
}

/** Makes attempts in the calling thread. */
export function attemptMaker(d: AttemptMakerOptions): AttemptMaker {
  return {
    starting: () => undefined,
    async make(order) {
      const startedAt = d.clock.now()
      const timeoutMs = order.webhook.sending?.timeoutMs ?? d.policy.deliver.deadlineMs
      // Shorter than the timeout if a thread was slow to start the attempt.
      const deadlineMs = Math.min(timeoutMs, order.lease.until - startedAt)
      if (deadlineMs <= 0) return { startedAt, endedAt: startedAt, outcome: TOO_LATE }
      const headers = requestHeaders(d, order)
      const outcome = headers
        ? redacted(await send(d, order, headers.sent, deadlineMs), headers)
        : UNSEALABLE
      return {
        startedAt,
        endedAt: d.clock.now(),
        ...(headers && { requestHeaders: headers.kept }),
        outcome,
      }
    },
  }
}

const TOO_LATE: Outcome = {
  kind: 'unreachable',
  error: 'interrupted',
  detail: 'its turn came too late to be sent',
}
const UNSEALABLE: Outcome = {
  kind: 'unreachable',
  error: 'unsealable_secret',
  detail: 'the webhook secret or its headers were sealed with another master key',
}

/** Some receivers return the request's headers in their answer. */
const redacted = (outcome: Outcome, { redact }: RequestHeaders): Outcome =>
  outcome.kind === 'unreachable'
    ? outcome
    : { ...outcome, responseBody: redact(outcome.responseBody) }

async function send(
  d: AttemptMakerOptions,
  { webhook, body }: AttemptOrder,
  headers: RequestHeaders['sent'],
  deadlineMs: number,
): Promise<Outcome> {
  try {
    return await d.sender.send({ url: webhook.url, headers, body, deadlineMs })
  } catch (error) {
    // The port forbids a rejection. A defect of an adapter costs one attempt, not the sender.
    return { kind: 'unreachable', error: 'protocol', detail: String(error) }
  }
}

/**
 * `kept` is for people: the customer's headers without their values. `redact` removes the values
 * from an answer.
 */
type RequestHeaders = {
  readonly sent: Readonly<Record<string, string>>
  readonly kept: Readonly<Record<string, string>>
  redact(text: string): string
}

/**
 * Returns the headers of one attempt, signed now, or undefined if a secret cannot be decrypted:
 * then nothing is sent.
 */
function requestHeaders(
  d: AttemptMakerOptions,
  { delivery, webhook, body, trace }: AttemptOrder,
): RequestHeaders | undefined {
  const at = d.clock.now()
  const { signing, next } = signingSecrets(webhook, at)
  const unseal = (sealed: Sealed): string | undefined =>
    d.crypto.unseal(sealed, webhookSecretContext(webhook.id))
  const secret = unseal(signing)
  const nextSecret = next && unseal(next)
  const custom = customHeaders(d, webhook)
  if (secret === undefined || (next && nextSecret === undefined) || !custom) return undefined
  const signed = {
    id: delivery.id,
    event: delivery.event,
    body,
    secret,
    nextSecret,
    at,
    headerPrefix: d.policy.headerPrefix,
  }
  const ours = {
    'content-type': isTaskHook(webhook) ? TASK_TYPE : 'application/json',
    ...signatureHeaders(d.crypto.hmacSha256, signed),
    ...trace,
  }
  if (!webhook.headers) return { sent: ours, kept: ours, redact: (text) => text }
  return {
    sent: withCustomHeaders(ours, custom),
    kept: withRedactedHeaders(ours, custom),
    redact: (text) => withoutHeaderValues(text, custom),
  }
}

function customHeaders(
  { crypto }: AttemptMakerOptions,
  { id, headers }: AttemptOrder['webhook'],
): CustomHeaders | undefined {
  if (!headers) return {}
  const text = crypto.unseal(headers.sealed, webhookHeadersContext(id))
  return text === undefined ? undefined : (JSON.parse(text) as CustomHeaders)
}
