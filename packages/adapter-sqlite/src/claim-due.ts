import type { Database } from 'better-sqlite3'
import type { ClaimDue, ClaimedDelivery, SendingDelivery } from '@org/agent-messaging-core'
import { selectDeliveryWithBody, toDelivery, type DeliveryRowWithBody } from './delivery-row.js'
import { toTrace } from './trace.js'
import { selectWebhook, toWebhook, type WebhookRow } from './webhook-row.js'

/** Webhooks looked at in one call: bounds it where thousands have open deliveries and none is due. */
const MOST_HOPS = 1_000

export const nextLaneSql = 'select webhook_seq from deliveries where due_at is not null and webhook_seq > ? order by webhook_seq limit 1'
export const laneSql = `
  select seq, id, project_id as projectId, circuit_until is not null as isHalfOpen from webhooks
  where seq = ? and is_deleted = 0 and disabled_at is null and (circuit_until is null or circuit_until <= ?)`
/** First attempts, or retries (1), of one webhook. */
export const dueSql = `
  select seq, due_at as dueAt from deliveries where webhook_seq = ? and (attempt_count > 0) = ? and due_at <= ? order by due_at limit ?`

type LaneRow = { readonly seq: number; readonly id: string; readonly projectId: string; readonly isHalfOpen: 0 | 1 }
type Due = { readonly seq: number; readonly dueAt: number }
/** What the call may still claim. */
type Room = { left: number; retries: number; readonly ofProject: Map<string, number> }

/**
 * `DeliveryStore.claimDue`, within a transaction. Each webhook with open deliveries is a lane. A call goes round the lanes from
 * where the last one ended: a hop from lane to lane is one descent of an index, whatever the lanes hold, and of each lane
 * no more is read than may be taken.
 */
export function dueClaims(db: Database): (query: ClaimDue) => ClaimedDelivery[] {
  const nextLane = db.prepare<[number], number>(nextLaneSql).pluck()
  const laneOf = db.prepare<[number, number], LaneRow>(laneSql)
  const due = db.prepare<[number, 0 | 1, number, number], Due>(dueSql)
  const webhookOf = db.prepare<[number], WebhookRow>(`${selectWebhook} where w.seq = ?`)
  const holdCircuit = db.prepare<[number, number]>('update webhooks set circuit_until = ? where seq = ?')
  const claim = db.prepare<[number, number]>("update deliveries set state = 'sending', due_at = ?, lease = lease + 1 where seq = ?")
  const bySeq = db.prepare<[number], DeliveryRowWithBody>(`${selectDeliveryWithBody} where d.seq = ?`)
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

  function claimOf(lane: LaneRow, query: ClaimDue, room: Room): ClaimedDelivery[] {
    const ofProject = room.ofProject.get(lane.projectId) ?? query.perProject
    const most = Math.min(room.left, ofProject, lane.isHalfOpen ? 1 : query.perWebhook)
    if (most <= 0) return []
    const firsts = due.all(lane.seq, 0, query.now, most)
    const retries = due.all(lane.seq, 1, query.now, Math.min(most, room.retries))
    const taken = oldest(firsts, retries, most)
    if (taken.length === 0) return []

    if (lane.isHalfOpen) holdCircuit.run(query.until, lane.seq)
    room.left -= taken.length
    room.retries -= taken.filter((one) => retries.includes(one)).length
    room.ofProject.set(lane.projectId, ofProject - taken.length)
    return claimAll(lane, taken, query.until)
  }

  function claimAll(lane: LaneRow, taken: readonly Due[], until: number): ClaimedDelivery[] {
    const row = webhookOf.get(lane.seq)
    const webhook = row && toWebhook(row)
    return taken.flatMap(({ seq }) => {
      claim.run(until, seq)
      const delivery = bySeq.get(seq)
      if (!delivery || !webhook) return []
      const lease = { token: delivery.lease, until }
      return [{ delivery: toDelivery(delivery) as SendingDelivery, lease, webhook, body: delivery.body, ...toTrace(delivery.trace) }]
    })
  }

  return (query) => {
    const room: Room = { left: query.limit, retries: query.retries, ofProject: new Map() }
    const claimed: ClaimedDelivery[] = []
    for (const seq of lanes()) {
      if (room.left <= 0) break
      lastLane = seq
      const lane = laneOf.get(seq, query.now)
      if (lane && !query.except.has(lane.id) && !query.except.has(lane.projectId)) claimed.push(...claimOf(lane, query, room))
    }
    return claimed
  }
}

const oldest = (firsts: readonly Due[], retries: readonly Due[], most: number): Due[] =>
  [...firsts, ...retries].sort((a, b) => a.dueAt - b.dueAt).slice(0, most)
