import { WAITING, type Instant, type OperatorReason } from '@org/agent-messaging-core/storage'
import type { Queries } from '../database/database.js'
import { advanceOrders, type Ended } from './delivery-order.js'
import { releaseProbesSql } from './probe-readiness.js'
import { sql } from '../database/sql.js'

type Cancellation = {
  readonly projectId: string
  readonly deliveryId: string
  readonly now: Instant
  readonly reason: OperatorReason
}
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

/** Cancels a delivery within a transaction. Returns whether the delivery was open. */
export async function cancelDelivery(db: Queries, cancellation: Cancellation): Promise<boolean> {
  await db.run(releaseProbeSql, cancellation)
  const ended = await db.all(cancelSql, cancellation)
  await advanceOrders(db, ended, cancellation.now)
  return ended.length === 1
}
