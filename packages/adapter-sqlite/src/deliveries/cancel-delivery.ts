import type { Instant, OperatorReason } from '@org/agent-messaging-core/storage'
import type { Database } from 'better-sqlite3'
import { DeliveryOrders, type EndedDelivery } from './delivery-order.js'
import { probeRelease } from './probe-readiness.js'
import type { WebhookRows } from '../webhooks/receivers.js'

type Cancellation = {
  readonly projectId: string
  readonly deliveryId: string
  readonly now: Instant
  readonly reason: OperatorReason
}

const ONE = 'id = @deliveryId and project_id = @projectId'

/** Cancels a delivery in a transaction. Returns false if the delivery was not open. */
export function cancellation(
  db: Database,
  webhooks: WebhookRows,
): (cancelled: Cancellation) => boolean {
  const releaseProbe = probeRelease(db, webhooks, ONE)
  const orders = new DeliveryOrders(db)
  const cancel = db.prepare<[Cancellation], EndedDelivery>(`
    update deliveries set state = 'cancelled', is_claimed = 0, due_at = null, finished_at = @now, cancelled_reason = @reason
    where ${ONE} and due_at is not null returning order_key as orderKey`)
  return (cancelled) => {
    releaseProbe(cancelled)
    const ended = cancel.get(cancelled)
    if (ended) orders.advance([ended], cancelled.now)
    return ended !== undefined
  }
}
