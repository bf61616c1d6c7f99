import type { Database } from 'better-sqlite3'
import type { ClaimDue, ClaimedDelivery } from '@org/agent-messaging-core/storage'
import { rowClaims, type Events } from './claim-rows.js'
import { atMost } from './statements.js'
import type { WebhookRows } from './webhook-rows.js'

/** Webhooks with something due that are looked at in one call: bounds it where thousands are held back by their project's share. */
const MOST_LANES = 1_000

/** The next webhook that may be sent to and has something due. SQLite walks by itself from lane to lane: a microsecond each, due or not. */
export const nextLaneSql = `
  with recursive lanes (seq) as (
    select min(webhook_seq) from deliveries where due_at is not null and webhook_seq > @after
    union all
    select (select min(webhook_seq) from deliveries where due_at is not null and webhook_seq > lanes.seq) from lanes where seq is not null)
  select w.seq, w.id, w.project_id as projectId, w.circuit_until is not null as isHalfOpen from lanes cross join webhooks w on w.seq = lanes.seq
  where w.is_deleted = 0 and w.disabled_at is null and (w.circuit_until is null or w.circuit_until <= @now) and (
    exists (select 1 from deliveries where webhook_seq = w.seq and (attempt_count > 0) = 0 and due_at <= @now) or
    exists (select 1 from deliveries where webhook_seq = w.seq and (attempt_count > 0) = 1 and due_at <= @now))
  limit 1`
/** First attempts, or retries (1), of one webhook. */
export const dueSql = `
  select seq, due_at as dueAt from deliveries where webhook_seq = ? and (attempt_count > 0) = ? and due_at <= ? order by due_at ${atMost('?')}`

type LaneRow = {
  readonly seq: number
  readonly id: string
  readonly projectId: string
  readonly isHalfOpen: 0 | 1
}
type Due = { readonly seq: number; readonly dueAt: number }
/** What the call may still claim. */
type Room = { left: number; retries: number; readonly ofProject: Map<string, number> }

/**
 * `DeliveryStore.claimDue`, within a transaction. Each webhook with open deliveries is a lane. A call goes round the lanes from
 * where the last one ended: a hop from lane to lane is a few descents of an index, whatever the lanes hold, and of each lane
 * no more is read than may be taken.
 */
export function dueClaims(
  db: Database,
  webhooks: WebhookRows,
): (query: ClaimDue) => ClaimedDelivery[] {
  const nextLane = db.prepare<{ after: number; now: number }, LaneRow>(nextLaneSql)
  const due = db.prepare<[number, 0 | 1, number, number], Due>(dueSql)
  const holdCircuit = db.prepare<[number, number]>(
    'update webhooks set circuit_until = ? where seq = ?',
  )
  const claimRows = rowClaims(db)
  let lastLane = 0

  /** Every lane once, beginning behind the last one served. */
  function* lanes(now: number): Generator<LaneRow> {
    const from = lastLane
    const next = (after: number) => nextLane.get({ after, now })
    for (let lane = next(from); lane; lane = next(lane.seq)) yield lane
    for (let lane = next(0); lane && lane.seq <= from; lane = next(lane.seq)) yield lane
  }

  function hold(lane: LaneRow, until: number): void {
    holdCircuit.run(until, lane.seq)
    webhooks.changed()
  }

  function claimOf(lane: LaneRow, query: ClaimDue, room: Room, events: Events): ClaimedDelivery[] {
    const ofProject = room.ofProject.get(lane.projectId) ?? query.perProject
    const most = Math.min(room.left, ofProject, lane.isHalfOpen ? 1 : query.perWebhook)
    if (most <= 0) return []
    const firsts = due.all(lane.seq, 0, query.now, most)
    const retries = due.all(lane.seq, 1, query.now, Math.min(most, room.retries))
    const taken = oldest(firsts, retries, most)
    if (taken.length === 0) return []

    if (lane.isHalfOpen) hold(lane, query.until)
    room.left -= taken.length
    room.retries -= taken.filter((one) => retries.includes(one)).length
    room.ofProject.set(lane.projectId, ofProject - taken.length)
    return claimRows(
      taken.map(({ seq }) => seq),
      webhooks.bySeq(lane.seq),
      query.until,
      events,
    )
  }

  return (query) => {
    const room: Room = { left: query.limit, retries: query.retries, ofProject: new Map() }
    const claimed: ClaimedDelivery[] = []
    const events: Events = new Map()
    let looks = 0
    for (const lane of lanes(query.now)) {
      if (room.left <= 0 || looks++ === MOST_LANES) break
      lastLane = lane.seq
      if (!query.except.has(lane.id) && !query.except.has(lane.projectId))
        claimed.push(...claimOf(lane, query, room, events))
    }
    return claimed
  }
}

const oldest = (firsts: readonly Due[], retries: readonly Due[], most: number): Due[] =>
  [...firsts, ...retries].sort((a, b) => a.dueAt - b.dueAt).slice(0, most)
