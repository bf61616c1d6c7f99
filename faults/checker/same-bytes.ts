import { eventOf } from './event-of.js'
import type { History } from './history.js'
import type { Verify } from './signatures.js'
import type { Invariant } from './violation.js'

/** 7. Each request is signed for its receiver and contains the stored bytes. */
export const sameBytes = (verify: Verify): Invariant =>
  function* (history) {
    const { received, final } = history
    const erased = erasedEvents(history)
    const secrets = new Map(final.webhooks.map(({ webhookId, secret }) => [webhookId, secret]))
    const bodies = new Map(final.deliveries.map(({ deliveryId, body }) => [deliveryId, body]))
    const owners = new Map(
      final.deliveries.map(({ deliveryId, webhookId }) => [deliveryId, webhookId]),
    )
    for (const { webhookId, headers, body } of received) {
      const deliveryId = headers['webhook-id'] ?? ''
      if (!verify(secrets.get(webhookId) ?? '', headers, body))
        yield { of: deliveryId, problem: 'a signature is wrong' }
      const stored = bodies.get(deliveryId)
      // The requests of a purged delivery must still be equal.
      if (stored === undefined) bodies.set(deliveryId, body)
      else if (stored !== body)
        yield { of: deliveryId, problem: 'a request differs from the stored bytes' }
      if ((owners.get(deliveryId) ?? webhookId) !== webhookId)
        yield { of: deliveryId, problem: 'a receiver of another webhook got the delivery' }
      const isGone = final.purgedBefore !== undefined || erased.has(eventOf(body)?.eventId)
      if (stored === undefined && !isGone)
        yield {
          of: deliveryId,
          problem: 'a receiver got the delivery, but the delivery does not exist',
        }
    }
  }

/** Returns the ids of the events of erased persons. */
function erasedEvents({ published = [], erasures = [] }: History): ReadonlySet<string | undefined> {
  const persons = new Set(erasures.map(({ endUserId }) => endUserId))
  const events = published.flatMap((request) => request.events)
  return new Set(
    events.flatMap(({ id, endUserId }) => (persons.has(endUserId ?? '') ? (id ?? []) : [])),
  )
}
