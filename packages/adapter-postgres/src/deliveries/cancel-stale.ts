import { WAITING, type CancelStale, type Instant } from '@org/agent-messaging-core/storage'
import type { Queries } from '../database/database.js'
import { advanceOrders, type Ended } from './delivery-order.js'
import { sql } from '../database/sql.js'

type Webhook = { readonly webhookSeq: number }
type Due = Webhook & { readonly now: Instant; readonly limit: number }
type Cancellation = Due & { readonly isRetry: boolean; readonly dueBefore: Instant }

/** The redundant condition lets the planner use the index `webhooks_unhealthy`. */
const disabledSql = sql<object, Webhook>(`
  select seq as "webhookSeq" from agent_messaging.webhooks
  where not is_deleted and (disabled_at is not null or circuit_until is not null)
    and disabled_at is not null
  order by seq`)
const countDueSql = sql<Due, { readonly count: number }>(`
  select count(*) as count from (select 1 from agent_messaging.deliveries
    where webhook_seq = @webhookSeq and (attempt_count > 0) in (false, true) and due_at <= @now
    limit @limit) due`)
const countWaitingSql = sql<Webhook & { readonly limit: number }, { readonly count: number }>(`
  select count(*) as count from (select 1 from agent_messaging.deliveries
    where webhook_seq = @webhookSeq and (attempt_count > 0) in (false, true) and due_at = ${WAITING}
    limit @limit) waiting`)
/**
 * `= any(array(…))` runs the inner query once. With `in (…)` a plan can run it once per delivery,
 * skip the rows that it has just changed, and so change more than `limit`.
 *
 * `(select @isRetry)` keeps the planner from folding the condition into one that no index has.
 */
const cancelSql = sql<Cancellation, Ended>(`
  update agent_messaging.deliveries set state = 'cancelled', due_at = null, finished_at = @now,
    cancelled_reason = 'webhook_disabled'
  where seq = any(array(
    select seq from agent_messaging.deliveries
    where webhook_seq = @webhookSeq and (attempt_count > 0) = (select @isRetry::boolean)
      and due_at < @dueBefore
    order by due_at limit @limit for update skip locked))
  returning order_key as "orderKey"`)
const cancelWaitingSql = sql<Omit<Cancellation, 'isRetry'>>(`
  update agent_messaging.deliveries set state = 'cancelled', due_at = null, finished_at = @now,
    cancelled_reason = 'webhook_disabled'
  where seq = any(array(
    select seq from agent_messaging.deliveries
    where webhook_seq = @webhookSeq and (attempt_count > 0) in (false, true) and due_at = ${WAITING}
      and created_at < @dueBefore
    order by seq limit @limit for update skip locked))`)

/**
 * `DeliveryStore.cancelStale`, within a transaction. Reads for each webhook at most `keep` and
 * `limit` entries of the index of open deliveries.
 */
export async function cancelStale(
  db: Queries,
  { now, dueBefore, keep, limit }: CancelStale,
): Promise<number> {
  let left = limit
  const ended: Ended[] = []
  /** Cancels up to `most` deliveries: attempted ones, then other due ones, then waiting ones. */
  async function cancelHeld({ webhookSeq }: Webhook, before: Instant, most: number): Promise<void> {
    const end = left - Math.min(left, most)
    const wanted = () => ({ webhookSeq, dueBefore: before, now, limit: left - end })
    for (const isRetry of [true, false]) {
      const due = await db.all(cancelSql, { ...wanted(), isRetry })
      ended.push(...due)
      left -= due.length
    }
    left -= await db.run(cancelWaitingSql, wanted())
  }
  for (const webhook of await db.all(disabledSql, {})) {
    await cancelHeld(webhook, dueBefore, left)
    const due = await db.one(countDueSql, { ...webhook, now, limit: keep + left })
    const waiting = await db.one(countWaitingSql, { ...webhook, limit: keep + left })
    const count = (due?.count ?? 0) + (waiting?.count ?? 0)
    await cancelHeld(webhook, now + 1, Math.max(0, count - keep))
  }
  await advanceOrders(db, ended, now)
  return limit - left
}
