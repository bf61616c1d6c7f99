import type { CancelStale, Instant } from '@org/agent-messaging-core/storage'
import type { Queries } from './database.js'
import { sql } from './sql.js'

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
/**
 * `= any(array(…))` runs the inner query once. With `in (…)` a plan can run it once per delivery,
 * skip the rows that it has just changed, and so change more than `limit`.
 *
 * `(select @isRetry)` keeps the planner from folding the condition into one that no index has.
 */
const cancelSql = sql<Cancellation>(`
  update agent_messaging.deliveries set state = 'cancelled', due_at = null, finished_at = @now,
    cancelled_reason = 'webhook_disabled'
  where seq = any(array(
    select seq from agent_messaging.deliveries
    where webhook_seq = @webhookSeq and (attempt_count > 0) = (select @isRetry::boolean)
      and due_at < @dueBefore
    order by due_at limit @limit for update skip locked))`)

/**
 * `DeliveryStore.cancelStale`, within a transaction. Reads for each webhook at most `keep` and
 * `limit` entries of the index of open deliveries.
 */
export async function cancelStale(
  db: Queries,
  { now, dueBefore, keep, limit }: CancelStale,
): Promise<number> {
  let left = limit
  /** Cancels up to `most` due deliveries, attempted ones first. */
  async function cancelDue({ webhookSeq }: Webhook, before: Instant, most: number): Promise<void> {
    const end = left - Math.min(left, most)
    for (const isRetry of [true, false])
      left -= await db.run(cancelSql, {
        webhookSeq,
        isRetry,
        dueBefore: before,
        now,
        limit: left - end,
      })
  }
  for (const webhook of await db.all(disabledSql, {})) {
    await cancelDue(webhook, dueBefore, left)
    const { count = 0 } = (await db.one(countDueSql, { ...webhook, now, limit: keep + left })) ?? {}
    await cancelDue(webhook, now + 1, Math.max(0, count - keep))
  }
  return limit - left
}
