import type { ClaimDue, ClaimedDelivery, Instant, SendingDelivery } from '@org/agent-messaging-core'
import type { Queries } from './database.js'
import { selectDeliveryWithBody, toDelivery, type DeliveryRowWithBody } from './delivery-row.js'
import { sql } from './sql.js'
import { toTrace } from './trace.js'
import { selectWebhook, toWebhook, type WebhookRow } from './webhook-row.js'

/** Webhooks looked at in one call: bounds it where thousands have open deliveries and none is due. */
const MOST_HOPS = 1_000

/** A webhook with something due: since when its first attempts and its retries are, the oldest of each. */
type Lane = {
  readonly seq: number
  readonly projectId: string
  readonly isHalfOpen: boolean
  readonly firsts: readonly Instant[]
  readonly retries: readonly Instant[]
}
type Stretch = { readonly after: number; readonly upTo: number; readonly hops: number }
type LaneQuery = Stretch & Pick<ClaimDue, 'now'> & { readonly most: number; readonly except: readonly string[] }
/** The lanes with work among those from `after` on, and how far that went. */
type Lanes = { readonly lanes: readonly Lane[]; readonly hopped: number; readonly last: number | null }
/** So many of one lane, and of one kind. */
type Share = { readonly lane: Lane; readonly isRetry: boolean; readonly count: number }
/** What the call may still claim. */
type Room = { left: number; retries: number; readonly ofProject: Map<string, number> }

/** A hop from lane to lane is one descent of an index, whatever the lanes hold, and of each no more is read than may be taken. */
export const lanesSql = sql<LaneQuery, Lanes>(`
  with recursive lane (seq, hop) as (
    (select webhook_seq, 1 from agent_messaging.deliveries
      where due_at is not null and webhook_seq > @after and webhook_seq <= @upTo order by webhook_seq limit 1)
    union all
    select (select webhook_seq from agent_messaging.deliveries
      where due_at is not null and webhook_seq > lane.seq and webhook_seq <= @upTo order by webhook_seq limit 1), hop + 1
    from lane where lane.seq is not null and hop < @hops),
  due as (
    select w.seq, w.project_id as "projectId", w.circuit_until is not null as "isHalfOpen",
      array(select due_at from agent_messaging.deliveries
        where webhook_seq = w.seq and not (attempt_count > 0) and due_at <= @now order by due_at limit @most) as firsts,
      array(select due_at from agent_messaging.deliveries
        where webhook_seq = w.seq and (attempt_count > 0) and due_at <= @now order by due_at limit @most) as retries
    from lane join agent_messaging.webhooks w on w.seq = lane.seq
    where not w.is_deleted and w.disabled_at is null and (w.circuit_until is null or w.circuit_until <= @now)
      and w.id <> all(@except::text[]) and w.project_id <> all(@except::text[]))
  select count(lane.seq) as hopped, max(lane.seq) as last,
    (select coalesce(json_agg(due order by seq), '[]') from due where cardinality(firsts) + cardinality(retries) > 0) as lanes
  from lane`)

/** One process probes a half-open webhook: who has its row. */
const lockHalfOpenSql = sql<{ readonly seqs: readonly number[]; readonly now: Instant }, { readonly seq: number }>(`
  select seq from agent_messaging.webhooks where seq = any(@seqs::bigint[]) and circuit_until <= @now for no key update skip locked`)
const holdCircuitsSql = sql<{ readonly seqs: readonly number[]; readonly until: Instant }>(
  'update agent_messaging.webhooks set circuit_until = @until where seq = any(@seqs::bigint[])',
)
type Shares = { readonly lanes: readonly number[]; readonly areRetries: readonly boolean[]; readonly counts: readonly number[] }
/** Passes over what others lock, who claim it. */
export const claimDueSql = sql<Shares & { readonly now: Instant; readonly until: Instant }, { readonly seq: number }>(`
  with taken as materialized (
    select d.seq, d.due_at from unnest(@lanes::bigint[], @areRetries::boolean[], @counts::bigint[]) as share (lane, is_retry, count)
    cross join lateral (
      select seq, due_at from agent_messaging.deliveries
      where webhook_seq = share.lane and (attempt_count > 0) = share.is_retry and due_at <= @now
      order by due_at limit share.count for update skip locked) d),
  claimed as (
    update agent_messaging.deliveries d set state = 'sending', due_at = @until, lease = lease + 1 from taken where d.seq = taken.seq
    returning d.seq, taken.due_at as was_due_at)
  select seq from claimed order by was_due_at, seq`)
type Seqs = { readonly seqs: readonly number[] }
const deliveriesSql = sql<Seqs, DeliveryRowWithBody & { readonly webhookSeq: number }>(`
  ${selectDeliveryWithBody.replace('select', 'select d.webhook_seq as "webhookSeq",')} where d.seq = any(@seqs::bigint[])`)
const webhooksSql = sql<Seqs, WebhookRow>(`${selectWebhook} where w.seq = any(@seqs::bigint[])`)

/**
 * `DeliveryStore.claimDue`, within a transaction. Each webhook with open deliveries is a lane. A call goes round the lanes from
 * where this process's last one ended, and shares out what it may take; then it claims so many of each lane.
 */
export function dueClaims(): (db: Queries, query: ClaimDue) => Promise<ClaimedDelivery[]> {
  let lastLane = 0

  /** Every lane once, beginning behind the last one served. */
  async function shares(db: Queries, query: ClaimDue): Promise<Share[]> {
    const room: Room = { left: query.limit, retries: query.retries, ofProject: new Map() }
    const asked = { now: query.now, most: Math.min(query.perWebhook, query.limit), except: [...query.except] }
    const start = lastLane
    const shared: Share[] = []
    let hops = MOST_HOPS
    for (const stretch of [
      { after: start, upTo: Number.MAX_SAFE_INTEGER },
      { after: 0, upTo: start },
    ]) {
      if (room.left <= 0 || hops <= 0) break
      const found = await db.one(lanesSql, { ...asked, ...stretch, hops })
      if (!found) continue
      hops -= found.hopped
      lastLane = found.last ?? lastLane
      for (const lane of found.lanes) {
        if (room.left <= 0) break
        lastLane = lane.seq
        shared.push(...shareOf(lane, query, room))
      }
    }
    return shared
  }

  return async (db, query) => claimShares(db, await probing(db, await shares(db, query), query.now), query)
}

/** Of one lane the oldest due, first attempts or retries, as many as there is room for. */
function shareOf(lane: Lane, query: ClaimDue, room: Room): Share[] {
  const ofProject = room.ofProject.get(lane.projectId) ?? query.perProject
  const most = Math.max(0, Math.min(room.left, ofProject, lane.isHalfOpen ? 1 : query.perWebhook))
  const firsts = lane.firsts.slice(0, most).map((dueAt) => ({ dueAt, isRetry: false }))
  const retries = lane.retries.slice(0, Math.min(most, room.retries)).map((dueAt) => ({ dueAt, isRetry: true }))
  const taken = [...firsts, ...retries].sort((a, b) => a.dueAt - b.dueAt).slice(0, most)
  const retried = taken.filter(({ isRetry }) => isRetry).length
  room.left -= taken.length
  room.retries -= retried
  room.ofProject.set(lane.projectId, ofProject - taken.length)
  return [
    { lane, isRetry: false, count: taken.length - retried },
    { lane, isRetry: true, count: retried },
  ].filter(({ count }) => count > 0)
}

/** Leaves out the half-open webhooks that another process probes. */
async function probing(db: Queries, shares: readonly Share[], now: Instant): Promise<readonly Share[]> {
  const halfOpen = shares.filter(({ lane }) => lane.isHalfOpen)
  if (halfOpen.length === 0) return shares
  const locked = new Set((await db.all(lockHalfOpenSql, { seqs: seqsOf(halfOpen), now })).map(({ seq }) => seq))
  return shares.filter(({ lane }) => !lane.isHalfOpen || locked.has(lane.seq))
}

async function claimShares(db: Queries, shares: readonly Share[], { now, until }: ClaimDue): Promise<ClaimedDelivery[]> {
  if (shares.length === 0) return []
  const lanes = seqsOf(shares)
  const [areRetries, counts] = [shares.map(({ isRetry }) => isRetry), shares.map(({ count }) => count)]
  const seqs = (await db.all(claimDueSql, { lanes, areRetries, counts, now, until })).map(({ seq }) => seq)
  const deliveries = new Map((await db.all(deliveriesSql, { seqs })).map((row) => [row.seq, row]))
  const claimed = seqs.flatMap((seq) => deliveries.get(seq) ?? [])

  const served = new Set(claimed.map(({ webhookSeq }) => webhookSeq))
  const probed = seqsOf(shares.filter(({ lane }) => lane.isHalfOpen && served.has(lane.seq)))
  if (probed.length > 0) await db.run(holdCircuitsSql, { seqs: probed, until })
  const webhooks = new Map((await db.all(webhooksSql, { seqs: [...served] })).map((row) => [row.seq, toWebhook(row)]))
  return [...new Set(lanes)].flatMap((lane) =>
    claimed
      .filter(({ webhookSeq }) => webhookSeq === lane)
      .flatMap((row) => {
        const webhook = webhooks.get(lane)
        const [delivery, lease] = [toDelivery(row) as SendingDelivery, { token: row.lease, until }]
        return webhook ? [{ delivery, lease, webhook, body: row.body, ...toTrace(row.trace) }] : []
      }),
  )
}

const seqsOf = (shares: readonly Share[]): number[] => shares.map(({ lane }) => lane.seq)
