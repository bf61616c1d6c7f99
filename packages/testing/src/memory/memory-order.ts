import type { WebhookDelivery, Instant } from '@org/agent-messaging-core'
import { isOpen } from './memory-delivery-rows.js'
import type { DeliveryRow, Memory } from './memory.js'

/** Open deliveries with this key, in the order of their commits. */
export const openWithKey = (memory: Memory, orderKey: string): DeliveryRow[] =>
  [...memory.deliveries.values()].filter(
    ({ delivery }) => delivery.orderKey === orderKey && isOpen(delivery.state),
  )

/**
 * Makes the first open delivery with the key of an ended one due. The others wait for it. Returns
 * false if the first one did not wait.
 */
export function advanceOrder(
  memory: Memory,
  { orderKey }: Pick<WebhookDelivery, 'orderKey'>,
  now: Instant,
): boolean {
  if (orderKey === undefined) return false
  const [first, ...others] = openWithKey(memory, orderKey)
  if (first?.delivery.state.kind !== 'waiting') return false
  const state = { kind: 'pending', nextAttemptAt: now, step: 0 } as const
  first.delivery = { ...first.delivery, state }
  const waiting = { kind: 'waiting', blockedBy: first.delivery.id } as const
  for (const row of others) row.delivery = { ...row.delivery, state: waiting }
  return true
}
