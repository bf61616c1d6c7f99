import type { Outcome } from '../domain/delivery.js'
import type { AttemptMaker, AttemptOrder } from '../ports/attempt-maker.js'
import type { Clock, Crypto } from '../ports/platform.js'
import type { WebhookSender } from '../ports/webhook-sender.js'
import type { AttemptPolicy } from '../use-cases/deps.js'
import { requestHeaders, type RequestHeaders } from './request-headers.js'

export type AttemptMakerOptions = {
  readonly clock: Clock
  readonly crypto: Crypto
  readonly sender: Pick<WebhookSender, 'send'>
  readonly policy: AttemptPolicy
}

/** Makes attempts where it is called. */
export function attemptMaker(d: AttemptMakerOptions): AttemptMaker {
  return {
    async make(order) {
      const startedAt = d.clock.now()
      // Less than the policy's deadline only where a thread was slow to come to it.
      const deadlineMs = Math.min(d.policy.deliver.deadlineMs, order.lease.until - startedAt)
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

/** Some receivers send back what they were sent, to help who is looking for a mistake. */
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
    // The port forbids a rejection; an adapter with a bug costs an attempt, not the worker.
    return { kind: 'unreachable', error: 'protocol', detail: String(error) }
  }
}
