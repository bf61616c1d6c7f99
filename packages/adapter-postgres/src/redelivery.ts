import {
  decideRedelivery,
  keepsOrder,
  type Instant,
  type OperatorReason,
  type PageOf,
  type RedeliverFilter,
  type Redelivered,
  WAITING,
} from '@org/agent-messaging-core/storage'
import type { Queries } from './database.js'
import { advanceOrders, type Ended } from './delivery-order.js'
import { listDeliveries } from './delivery-list.js'
import { makeReadyToProbe, releaseProbesSql } from './probe-readiness.js'
import { sql } from './sql.js'

// Changes of deliveries by operators, within a transaction.

type Cancellation = {
  readonly projectId: string
  readonly deliveryId: string
  readonly now: Instant
  readonly reason: OperatorReason
}
type Columns = {
  readonly ids: readonly string[]
  readonly steps: readonly number[]
  readonly dueAts: readonly Instant[]
  readonly resumeAts: readonly (Instant | null)[]
  readonly keepOrder: readonly boolean[]
}

const makeDueSql = sql<Columns>(`
  update agent_messaging.deliveries d
  set state = 'pending', step = next.step, due_at = next.due_at, resume_at = next.resume_at,
    finished_at = null, cancelled_reason = null,
    order_key = case when next.keeps_order then d.order_key end
  from unnest(@ids::text[], @steps::int[], @dueAts::bigint[], @resumeAts::bigint[],
      @keepOrder::boolean[])
    as next (id, step, due_at, resume_at, keeps_order)
  where d.id = next.id`)
const ONE = 'id = @deliveryId and project_id = @projectId'
const releaseProbeSql = releaseProbesSql<Cancellation>(`
  select webhook_seq, due_at from agent_messaging.deliveries
  where ${ONE} and state = 'sending' for update`)
const cancelSql = sql<Cancellation, Ended>(`
  with open as materialized (
    select seq, due_at from agent_messaging.deliveries
    where ${ONE} and due_at is not null for update)
  update agent_messaging.deliveries d set state = 'cancelled', due_at = null, finished_at = @now,
    cancelled_reason = @reason
  from open where d.seq = open.seq
  returning case when open.due_at <> ${WAITING} then d.order_key end as "orderKey"`)

/** `DeliveryStore.redeliver`. */
export async function redeliver(
  db: Queries,
  filter: RedeliverFilter,
  page: PageOf,
  now: Instant,
): Promise<Redelivered> {
  const { data, nextCursor } = await listDeliveries(db, { ...filter, lock: true }, page)
  await makeReadyToProbe(db, [...new Set(data.map(({ webhookId }) => webhookId))], now)
  const isNamed = filter.deliveryId !== undefined
  const changed = data.flatMap(({ id, state }) => {
    const next = decideRedelivery(state, now, isNamed)
    return next ? [{ id, keepsOrder: keepsOrder(state), ...next }] : []
  })
  await db.run(makeDueSql, {
    ids: changed.map(({ id }) => id),
    steps: changed.map(({ step }) => step),
    dueAts: changed.map(({ nextAttemptAt }) => nextAttemptAt),
    resumeAts: changed.map(({ resumeAt }) => resumeAt ?? null),
    keepOrder: changed.map((one) => one.keepsOrder),
  })
  return { matched: data.length, count: changed.length, nextCursor }
}

/** Returns whether the delivery was open. */
export async function cancelDelivery(db: Queries, cancellation: Cancellation): Promise<boolean> {
  await db.run(releaseProbeSql, cancellation)
  const ended = await db.all(cancelSql, cancellation)
  await advanceOrders(db, ended, cancellation.now)
  return ended.length === 1
}
