import type { CancelStale, Instant } from '@org/agent-messaging-core/storage'
import type { Database } from 'better-sqlite3'
import { atMost } from './statements.js'

type Wanted = {
  readonly webhookSeq: number
  readonly isRetry: 0 | 1
  readonly dueBefore: Instant
  readonly now: Instant
  readonly limit: number
}

/**
 * `DeliveryStore.cancelStale`, in a transaction. Reads at most `keep` index entries of each
 * disabled webhook.
 */
export function staleDeliveries(db: Database): (query: CancelStale) => number {
  const disabled = db
    .prepare<[], number>(
      'select seq from webhooks where is_deleted = 0 and disabled_at is not null and (disabled_at is not null or circuit_until is not null)',
    )
    .pluck()
  const countDue = db
    .prepare<[number, Instant, number], number>(
      `select count(*) from (select 1 from deliveries
       where webhook_seq = ? and (attempt_count > 0) in (0, 1) and due_at <= ? ${atMost('?')})`,
    )
    .pluck()
  const cancel = db.prepare<[Wanted]>(`
    update deliveries set state = 'cancelled', is_claimed = 0, due_at = null, finished_at = @now, cancelled_reason = 'webhook_disabled' where seq in
      (select seq from deliveries where webhook_seq = @webhookSeq and (attempt_count > 0) = @isRetry and due_at < @dueBefore
       order by due_at ${atMost('@limit')})`)

  return ({ now, dueBefore, keep, limit }) => {
    let left = limit
    function cancelDue(webhookSeq: number, before: Instant, most: number): void {
      const end = left - Math.min(left, most)
      for (const isRetry of [1, 0] as const)
        left -= cancel.run({
          webhookSeq,
          isRetry,
          dueBefore: before,
          now,
          limit: left - end,
        }).changes
    }
    for (const webhookSeq of disabled.all()) {
      cancelDue(webhookSeq, dueBefore, left)
      const due = countDue.get(webhookSeq, now, keep + left) ?? 0
      cancelDue(webhookSeq, now + 1, Math.max(0, due - keep))
    }
    return limit - left
  }
}
