import {
  decideRedelivery,
  keepsOrder,
  type Instant,
  type OperatorReason,
  type PageOf,
  type RedeliverFilter,
  type Redelivered,
} from '@org/agent-messaging-core/storage'
import type { Database } from 'better-sqlite3'
import { DeliveryOrders, type EndedDelivery } from './delivery-order.js'
import { deliveryList } from './delivery-list.js'
import { probeReadiness, probeRelease } from './probe-readiness.js'
import type { WebhookRows } from './webhook-rows.js'

type Columns = {
  readonly id: string
  readonly step: number
  readonly dueAt: Instant
  readonly resumeAt: Instant | null
  readonly keepsOrder: 0 | 1
}
type Cancellation = {
  readonly projectId: string
  readonly deliveryId: string
  readonly now: Instant
  readonly reason: OperatorReason
}
export type Redelivery = {
  redeliver(filter: RedeliverFilter, page: PageOf, now: Instant): Redelivered
  /** Returns false if the delivery was not open. */
  cancel(cancellation: Cancellation): boolean
}

const ONE = 'id = @deliveryId and project_id = @projectId'

/** Changes that operators make to deliveries. Call them in a transaction. */
export function redelivery(db: Database, webhooks: WebhookRows): Redelivery {
  const list = deliveryList(db)
  const ready = probeReadiness(db, webhooks)
  const makeDue = db.prepare<[Columns]>(`
    update deliveries set state = 'pending', is_claimed = 0, step = @step, due_at = @dueAt, resume_at = @resumeAt, finished_at = null, cancelled_reason = null, order_key = iif(@keepsOrder, order_key, null)
    where id = @id`)
  const releaseProbe = probeRelease(db, webhooks, ONE)
  const orders = new DeliveryOrders(db)
  const cancel = db.prepare<[Cancellation], EndedDelivery>(`
    update deliveries set state = 'cancelled', is_claimed = 0, due_at = null, finished_at = @now, cancelled_reason = @reason
    where ${ONE} and due_at is not null returning order_key as orderKey`)

  return {
    redeliver: (filter, page, now) => {
      const { data, nextCursor } = list({ ...filter, ofExistingWebhook: true }, page)
      for (const webhookId of new Set(data.map((delivery) => delivery.webhookId)))
        ready(webhookId, now)
      const changed = data.filter(({ id, state }) => {
        const next = decideRedelivery(state, now, filter.deliveryId !== undefined)
        if (next)
          makeDue.run({
            id,
            step: next.step,
            dueAt: next.nextAttemptAt,
            resumeAt: next.resumeAt ?? null,
            keepsOrder: keepsOrder(state) ? 1 : 0,
          })
        return next !== undefined
      })
      return { matched: data.length, count: changed.length, nextCursor }
    },
    cancel: (cancellation) => {
      releaseProbe(cancellation)
      const ended = cancel.get(cancellation)
      if (ended) orders.advance([ended], cancellation.now)
      return ended !== undefined
    },
  }
}
