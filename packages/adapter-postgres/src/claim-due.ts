import {
  ClaimBudget,
  claimedDelivery,
  toTrace,
  toWebhook,
  type ClaimDue,
  type ClaimedDelivery,
  type ClaimedDeliveryRow,
  type EventName,
  type Instant,
  type WebhookRow,
} from '@org/agent-messaging-core/storage'
import type { Queries } from './database.js'
import { sql } from './sql.js'
import { webhookList } from './webhook-row.js'

/** Webhooks with something due that are looked at in one call: bounds it where thousands are held back by their project's share. */
const MOST_LANES = 1_000
/** So many at a time, for most calls are full after a few. */
const LANES_AT_ONCE = 16
/**
 * How long a lane is read from where its open ones began, or from so long ago if that is earlier: clocks differ (by 5 s at most), and commits
 * take their time (10 s).
 */
const FLOOR = { lastsMs: 1_000, agoMs: 15_000 }

/** A webhook with something due: since when its first attempts and its retries are, the oldest of each. */
type Lane = WebhookRow & {
  readonly firsts: readonly Instant[]
  readonly retries: readonly Instant[]
}
type LaneQuery = {
  readonly now: Instant
  readonly most: number
  readonly mostLanes: number
  readonly except: readonly string[]
}
/** Lanes behind the one and up to the other, stretch by stretch. */
type Stretches = { readonly afters: readonly number[]; readonly upTos: readonly number[] }
type Floors = { readonly floorLanes: readonly number[]; readonly floors: readonly Instant[] }
/** So many of one lane, and of one kind, the oldest of which is due since `floor`. */
type Share = {
  readonly lane: Lane
  readonly isRetry: boolean
  readonly count: number
  readonly floor: Instant
}

/**
 * What a statement reads itself it sees as it was when the statement began, a function in it as it is when the function does: so a webhook
 * that was enabled in between, to be probed, is here still one that was disabled and has no circuit. It is left to the next look.
 */
const lanesSql = sql<LaneQuery & Stretches & Floors, Lane>(`
  select lane.firsts, lane.retries, ${webhookList} from agent_messaging.webhooks w
    join (select stretch.place, due.* from unnest(@afters::bigint[], @upTos::bigint[]) with ordinality as stretch (after, up_to, place)
      cross join lateral agent_messaging.due_webhooks(after, up_to, @now, @mostLanes, @most, @except, @floorLanes, @floors) due
      limit @mostLanes) lane on lane.seq = w.seq
  where w.disabled_at is null and (w.circuit_until is null or w.circuit_until <= @now)
  order by lane.place, w.seq`)

type Shares = {
  readonly lanes: readonly number[]
  readonly areRetries: readonly boolean[]
  readonly counts: readonly number[]
  readonly floors: readonly Instant[]
  readonly halfOpen: readonly number[]
}
type ClaimedRow = ClaimedDeliveryRow & {
  readonly seq: number
  readonly webhookSeq: number
  readonly eventId: string
  readonly event: EventName
  readonly body: string
  readonly trace: string | null
  readonly wasDueAt: Instant
}
const claimSql = sql<Shares & { readonly now: Instant; readonly until: Instant }, ClaimedRow>(
  'select * from agent_messaging.claim_deliveries(@lanes, @areRetries, @counts, @floors, @halfOpen, @now, @until)',
)

/**
 * `DeliveryStore.claimDue`. Each webhook with open deliveries is a lane. A call goes round the lanes from where this process's last one
 * ended, and shares out what it may take; then it claims so many of each lane, in one commit.
 */
export function dueClaims(): (db: Queries, query: ClaimDue) => Promise<ClaimedDelivery[]> {
  const floors = laneFloors()
  let lastLane = 0

  /** Every lane once, beginning behind the last one served. */
  async function shares(db: Queries, query: ClaimDue): Promise<Share[]> {
    const budget = new ClaimBudget(query)
    const asked = {
      now: query.now,
      most: Math.min(query.perWebhook, query.limit),
      except: [...query.except],
      ...floors.at(query.now),
    }
    const start = lastLane
    const shared: Share[] = []
    let isRound = false
    for (let [last, looks] = [start, 0]; !isRound && budget.left > 0 && looks < MOST_LANES;) {
      const mostLanes = Math.max(LANES_AT_ONCE, budget.left)
      const lanes: readonly Lane[] = await db.all(lanesSql, {
        ...asked,
        ...stretchesFrom(last, start),
        mostLanes,
      })
      for (const lane of lanes) {
        if (budget.left === 0) break
        lastLane = lane.seq
        shared.push(...shareOf(lane, budget))
      }
      looks += lanes.length
      last = lanes.at(-1)?.seq ?? start
      isRound = lanes.length < mostLanes || last === start
    }
    return shared
  }

  return async (db, query) => {
    const shared = await shares(db, query)
    floors.set(shared, query.now)
    return claimShares(db, shared, query)
  }
}

/** On from `last` round to `start`. */
function stretchesFrom(last: number, start: number): Stretches {
  if (last < start) return { afters: [last], upTos: [start] }
  return { afters: [last, 0], upTos: [Number.MAX_SAFE_INTEGER, start] }
}

/** Where the open deliveries of a few lanes began at their last look, and for how long that is to be believed. */
function laneFloors() {
  const known = new Map<number, Instant>()
  let since = -Infinity
  return {
    at(now: Instant): Floors {
      // A delivery may have come in below its lane's floor: from time to time everything is looked at.
      if (Math.abs(now - since) >= FLOOR.lastsMs) known.clear()
      return { floorLanes: [...known.keys()], floors: [...known.values()] }
    },
    set(shares: readonly Share[], now: Instant): void {
      if (known.size === 0) since = now
      known.clear()
      for (const { lane } of shares) {
        known.set(
          lane.seq,
          Math.min(lane.firsts[0] ?? now, lane.retries[0] ?? now, now - FLOOR.agoMs),
        )
      }
    },
  }
}

/** The deliveries of one webhook to claim. First attempts and retries are claimed separately. */
function shareOf(lane: Lane, budget: ClaimBudget): Share[] {
  const candidate = { projectId: lane.projectId, isHalfOpen: isHalfOpen(lane) }
  const due = (times: readonly Instant[]) => times.map((dueAt) => ({ dueAt }))
  const { deliveries, retries } = budget.take(candidate, due(lane.firsts), due(lane.retries))
  const firsts = deliveries.length - retries
  return [
    { lane, isRetry: false, count: firsts, floor: lane.firsts[0] ?? 0 },
    { lane, isRetry: true, count: retries, floor: lane.retries[0] ?? 0 },
  ].filter(({ count }) => count > 0)
}

const isHalfOpen = ({ circuitUntil }: Lane): boolean => circuitUntil !== null

async function claimShares(
  db: Queries,
  shares: readonly Share[],
  { now, until }: ClaimDue,
): Promise<ClaimedDelivery[]> {
  if (shares.length === 0) return []
  const rows = await db.all(claimSql, {
    lanes: shares.map(({ lane }) => lane.seq),
    areRetries: shares.map(({ isRetry }) => isRetry),
    counts: shares.map(({ count }) => count),
    floors: shares.map(({ floor }) => floor),
    halfOpen: shares.filter(({ lane }) => isHalfOpen(lane)).map(({ lane }) => lane.seq),
    ...{ now, until },
  })
  const ofLane = new Map<number, ClaimedRow[]>(shares.map(({ lane }) => [lane.seq, []]))
  for (const row of rows.sort((a, b) => a.wasDueAt - b.wasDueAt || a.seq - b.seq))
    ofLane.get(row.webhookSeq)?.push(row)
  const lanes = new Map(shares.map(({ lane }) => [lane.seq, lane]))
  return [...lanes.values()].flatMap((lane) => {
    // As it was in the moment before: what it is changed to meanwhile counts from the next claim on.
    const webhook = toWebhook(isHalfOpen(lane) ? { ...lane, circuitUntil: until } : lane)
    return (ofLane.get(lane.seq) ?? []).map((row) => {
      const event = { id: row.eventId, name: row.event, body: row.body, ...toTrace(row.trace) }
      return claimedDelivery(row, event, webhook, until)
    })
  })
}
