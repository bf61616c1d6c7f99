import type { Database } from 'better-sqlite3'
import { deliveryRemoval } from '../maintenance/purge.js'
import { atMost } from '../database/statements.js'

type Delivery = { readonly seq: number; readonly eventSeq: number }

/** Deletes up to `limit` rows of deleted hooks and their deliveries. Returns their number. */
export function hookSweep(db: Database): (limit: number) => number {
  const next = db
    .prepare<[], number>(
      'select seq from webhooks where is_deleted = 1 and message_id is not null limit 1',
    )
    .pluck()
  const deliveriesOf = db.prepare<[number, number], Delivery>(
    `select seq, event_seq as eventSeq from deliveries where webhook_seq = ? ${atMost('?')}`,
  )
  const remove = db.prepare<[number]>('delete from webhooks where seq = ?')
  const removeDeliveries = deliveryRemoval(db)
  return (limit) => {
    let removed = 0
    for (let seq = next.get(); seq !== undefined; seq = next.get()) {
      const deliveries = deliveriesOf.all(seq, limit - removed)
      // The log keeps the events.
      removeDeliveries(deliveries, 0)
      removed += deliveries.length
      if (removed >= limit) break
      removed += remove.run(seq).changes
    }
    return removed
  }
}
