import { WAITING, type CancelStale, type Instant } from '@org/agent-messaging-core/storage'
import type { Database } from 'better-sqlite3'
import { DeliveryOrders, type EndedDelivery } from './delivery-order.js'
import { atMost } from '../database/statements.js'

type Wanted = {
  readonly webhookSeq: number
  readonly isRetry: 0 | 1
  readonly dueBefore: Instant
  readonly now: Instant
  readonly limit: number
}

/** `DeliveryStore.cancelOrphans`, in a transaction. */
export function orphanedDeliveries(
  db: Database,
): (query: { readonly now: Instant; readonly limit: number }) => number {
  const cancel = db.prepare<{ now: Instant; limit: number }, EndedDelivery>(`
    update deliveries set state = 'cancelled', is_claimed = 0, due_at = null, finished_at = @now, cancelled_reason = 'webhook_deleted' where seq in
      (select d.seq from webhooks w cross join deliveries d on d.webhook_seq = w.seq
       where w.is_deleted = 1 and d.due_at is not null ${atMost('@limit')})
    returning order_key as orderKey`)
  const orders = new DeliveryOrders(db)
  return (query) => {
    const ended = cancel.all(query)
    orders.advance(ended, query.now)
    return ended.length
  }
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
  const countWaiting = db
    .prepare<[number, number], number>(
      `select count(*) from (select 1 from deliveries
       where webhook_seq = ? and (attempt_count > 0) = 0 and due_at = ${WAITING} ${atMost('?')})`,
    )
    .pluck()
  const cancel = db.prepare<[Wanted], EndedDelivery>(
    cancelSql('(attempt_count > 0) = @isRetry and due_at < @dueBefore order by due_at'),
  )
  const cancelWaiting = db.prepare<[Wanted], EndedDelivery>(
    cancelSql(
      `(attempt_count > 0) = @isRetry and due_at = ${WAITING} and created_at < @dueBefore order by seq`,
    ),
  )
  const orders = new DeliveryOrders(db)

  return ({ now, dueBefore, keep, limit }) => {
    const ended: EndedDelivery[] = []
    const left = (): number => limit - ended.length
    function cancelHeld(webhookSeq: number, before: Instant, most: number): void {
      const end = ended.length + Math.min(left(), most)
      const wanted = (isRetry: 0 | 1): Wanted => ({
        webhookSeq,
        isRetry,
        dueBefore: before,
        now,
        limit: end - ended.length,
      })
      ended.push(...cancel.all(wanted(1)))
      ended.push(...cancel.all(wanted(0)))
      ended.push(...cancelWaiting.all(wanted(0)))
    }
    for (const webhookSeq of disabled.all()) {
      cancelHeld(webhookSeq, dueBefore, left())
      const due = countDue.get(webhookSeq, now, keep + left()) ?? 0
      const waiting = countWaiting.get(webhookSeq, keep + left()) ?? 0
      cancelHeld(webhookSeq, now + 1, Math.max(0, due + waiting - keep))
    }
    orders.advance(ended, now)
    return ended.length
  }
}

const cancelSql = (which: string): string => `
  update deliveries set state = 'cancelled', is_claimed = 0, due_at = null, finished_at = @now, cancelled_reason = 'webhook_disabled' where seq in
    (select seq from deliveries where webhook_seq = @webhookSeq and ${which} ${atMost('@limit')})
  returning order_key as orderKey`
