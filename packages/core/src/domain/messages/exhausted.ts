import type { Outcome, WebhookDelivery } from '../webhooks/delivery.js'
import type { EventPayload, FailedAttempt } from '../webhooks/event.js'
import { toIso, type Instant } from '../values/instant.js'

/**
 * Returns true for an event that reports a failing webhook. A failed delivery of such an event
 * makes no event, so that two failing webhooks do not report each other without end.
 */
export const reportsFailure = (event: string): boolean =>
  event === 'delivery.exhausted' || (event.startsWith('webhook.') && event !== 'webhook.test')

/**
 * Returns the event of a delivery whose last attempt failed with this outcome. The event leaves
 * out what the receiver answered, because other receivers get the event.
 */
export function exhaustedEvent(
  delivery: WebhookDelivery,
  outcome: Outcome,
  exhaustedAt: Instant,
): EventPayload | undefined {
  const { id: deliveryId, webhookId, eventId, event, attemptCount } = delivery
  if (reportsFailure(event)) return undefined
  const data = {
    deliveryId,
    webhookId,
    eventId,
    event,
    attemptCount: attemptCount + 1,
    lastAttempt: lastAttemptOf(outcome),
    exhaustedAt: toIso(exhaustedAt),
  }
  return { event: 'delivery.exhausted', data }
}

export const lastAttemptOf = (outcome: Outcome): FailedAttempt =>
  outcome.kind === 'unreachable'
    ? { outcome: 'unreachable', error: outcome.error }
    : { outcome: 'refused', statusCode: outcome.statusCode }
