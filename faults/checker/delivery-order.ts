import { eventOf } from './event-of.js'
import { groupBy } from './group-by.js'
import type { History } from './history.js'
import type { Invariant } from './violation.js'

/**
 * 10. An ordered webhook gets no request for a delivery before the recorded requests for the
 * earlier ones of its session. A redelivery and a replay are out of order.
 */
export const deliveryOrder: Invariant = function* (history) {
  const requests = groupBy(history.received, ({ headers }) => headers['webhook-id'] ?? '')
  for (const deliveries of sessionsOf(history).values()) {
    let lastBefore = -Infinity
    for (const { deliveryId, attempts, redeliveredAt = [], isReplayed } of deliveries) {
      if (isReplayed || redeliveredAt.length > 0) continue
      const own = requests.get(deliveryId) ?? []
      if (own.some(({ at }) => at < lastBefore))
        yield { of: deliveryId, problem: 'a request came before the delivery ahead of it ended' }
      const receipts = new Set(attempts.map(({ receipt }) => receipt))
      const recorded = own.filter(({ receipt }) => receipts.has(receipt))
      lastBefore = Math.max(lastBefore, ...recorded.map(({ at }) => at))
    }
  }
}

/** The deliveries of each session to each ordered webhook, in the order of their commits. */
function sessionsOf({ final: { webhooks, deliveries } }: History) {
  const ordered = new Set(webhooks.flatMap((one) => (one.isOrdered ? one.webhookId : [])))
  const placed = deliveries
    .map((delivery) => ({ place: 0, ...delivery, ...eventOf(delivery.body) }))
    .filter(({ webhookId, place, sessionId }) => ordered.has(webhookId) && place > 0 && sessionId)
    .toSorted((a, b) => a.place - b.place)
  return groupBy(placed, ({ webhookId, agentId, sessionId }) =>
    JSON.stringify([webhookId, agentId, sessionId]),
  )
}
