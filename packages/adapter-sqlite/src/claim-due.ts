import type { Database } from 'better-sqlite3'
import type { ClaimDue, ClaimedDelivery, SendingDelivery, Webhook } from '@org/agent-messaging-core'
import { selectDeliveryWithBody, toDelivery, type DeliveryRow } from './delivery-row.js'
import { selectWebhook, toWebhook, type WebhookRow } from './webhook-row.js'

/** Webhooks looked at in one call: bounds it where thousands have open deliveries and none is due. */
const MOST_HOPS = 1_000

export const nextLaneSql = 'select webhook_seq from deliveries where due_at is not null and webhook_seq > ? order by webhook_seq limit 1'
export const dueSql = 'select seq from deliveries where webhook_seq = ? and due_at <= ? order by due_at limit ?'

/**
 * `DeliveryStore.claimDue`, within a transaction. Each webhook with open deliveries is a lane. A call goes round the lanes from
 * where the last one ended: a hop from lane to lane is one descent of an index, whatever the lanes hold, and of each lane
 * no more is read than may be taken.
 */
export function dueClaims(db: Database): (query: ClaimDue) => ClaimedDelivery[] {
  const nextLane = db.prepare<[number], number>(nextLaneSql).pluck()
  const due = db.prepare<[number, number, number], number>(dueSql).pluck()
  const webhookOf = db.prepare<[number], WebhookRow>(`${selectWebhook} where w.seq = ? and w.is_deleted = 0 and w.disabled_at is null`)
  const claim = db.prepare<[number, number]>("update deliveries set state = 'sending', due_at = ?, lease = lease + 1 where seq = ?")
  const bySeq = db.prepare<[number], DeliveryRow & { readonly body: string }>(`${selectDeliveryWithBody} where d.seq = ?`)
  let lastLane = 0

  /** Every lane once, beginning behind the last one served. */
  function* lanes(): Generator<number> {
    const first = nextLane.get(lastLane) ?? nextLane.get(0)
    let lane = first
    for (let hops = 0; lane !== undefined && hops < MOST_HOPS; hops++) {
      yield lane
      lane = nextLane.get(lane) ?? nextLane.get(0)
      if (lane === first) return
    }
  }

  function claimOf(lane: number, { now, until, except }: ClaimDue, most: number): ClaimedDelivery[] {
    const seqs = due.all(lane, now, most)
    const row = seqs.length === 0 ? undefined : webhookOf.get(lane)
    if (!row || except.has(row.id)) return []
    const webhook = toWebhook(row)
    return seqs.flatMap((seq) => claimOne(seq, webhook, until))
  }

  function claimOne(seq: number, webhook: Webhook, until: number): ClaimedDelivery[] {
    claim.run(until, seq)
    const row = bySeq.get(seq)
    return row ? [{ delivery: toDelivery(row) as SendingDelivery, lease: { token: row.lease, until }, webhook, body: row.body }] : []
  }

  return (query) => {
    const claimed: ClaimedDelivery[] = []
    for (const lane of lanes()) {
      const room = query.limit - claimed.length
      if (room <= 0) break
      lastLane = lane
      claimed.push(...claimOf(lane, query, Math.min(room, query.perWebhook)))
    }
    return claimed
  }
}
