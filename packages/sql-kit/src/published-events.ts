import type { Instant } from '@org/agent-messaging-core'
import type {
  EventStore,
  ListedEvent,
  NewestEvents,
  SessionEvents,
  StoredEvent,
} from '@org/agent-messaging-core/storage'
import { record } from './audit.js'
import {
  advanceOrders,
  claimList,
  openList,
  releaseSending,
  type OpenDelivery,
  type Sending,
} from './delivery-ends.js'
import { removedList, removeDeliveries, type RemovedDelivery } from './delivery-removals.js'
import { atMost } from './dialect.js'
import { lockEvents, removeEvents } from './event-removals.js'
import { all, one, sql, type Operation, type Runner, type Sql } from './operation.js'

type Seqs = { readonly seqs: readonly number[] }
type Left = { readonly owner: string; readonly limit: number; readonly now: Instant }
type Ref = { readonly projectId: string; readonly id: string }

const byId = sql<Ref, StoredEvent>(
  ({ schema }) => `
    select id, name, body, created_at as "createdAt" from ${schema}events
    where id = @id and project_id = @projectId`,
)
const eventsOf = (which: string) =>
  sql<SessionEvents, { readonly seq: number }>(
    ({ schema, plain }) => `
      select seq from ${schema}events
      where agent_id = @agentId ${which} and ${plain('project_id')} = @projectId
      ${atMost('@limit')}`,
  )
export const eventsOfAgent = eventsOf('')
export const eventsOfSession = eventsOf('and session_id = @sessionId')
const eventsOfOwner = sql<Left, { readonly seq: number }>(
  ({ schema }) => `select seq from ${schema}events where agent_id = @owner ${atMost('@limit')}`,
)
/** Locks in the order in which the record of attempts locks. */
const deliveriesOf = sql<Seqs, RemovedDelivery & OpenDelivery & Sending>(
  (d) => `
    select ${openList}, ${claimList(d)}, ${removedList} from ${d.schema}deliveries d
    where ${d.oneOf('d.event_seq', 'seqs', 'bigint')} ${d.lock('update of d', 'd.seq desc')}`,
)

/** `EventStore.eraseOf`. */
function* eraseOf(step: SessionEvents): Operation<number> {
  const statement = step.sessionId === undefined ? eventsOfAgent : eventsOfSession
  const erased = yield* erase(yield* all(statement, step), step.now)
  if (erased > 0) yield* record(step.audit)
  return erased
}

/** Erases up to `limit` published events of a deleted agent. Returns their number. */
export function* eraseLeft(step: Left): Operation<number> {
  return yield* erase(yield* all(eventsOfOwner, step), step.now)
}

function* erase(found: readonly { readonly seq: number }[], now: Instant): Operation<number> {
  const seqs = found.map(({ seq }) => seq)
  if (seqs.length === 0) return 0
  const deliveries = yield* all(deliveriesOf, { seqs })
  yield* releaseSending(deliveries, now)
  yield* removeDeliveries(deliveries, Number.MAX_SAFE_INTEGER)
  yield* advanceOrders(deliveries, now)
  yield* lockEvents(seqs)
  yield* removeEvents(seqs)
  return seqs.length
}

type Newest = {
  readonly projectId: string
  /** Below this position, and below this `seq`, also without a position. */
  readonly position: number
  readonly seq: number
  readonly unplacedSeq: number
  readonly rows: number
}
export type NewestRow = Omit<ListedEvent, 'place' | 'hasDeliveries'> & {
  readonly seq: number
  readonly position: number | null
  readonly hasDeliveries: number | boolean
}
/** The events of a project with a position, or those without one. */
export const logPart = (
  condition: (position: string) => string,
  order: (position: string) => string,
) =>
  (({ schema, position }) => `
    select * from (
      select id, name, created_at as "createdAt", has_deliveries as "hasDeliveries", seq,
        ${position} as position
      from ${schema}events where project_id = @projectId and ${condition(position)}
      order by ${order(position)} ${atMost('@rows')}) as part`) satisfies Sql
const unplaced = logPart(
  (position) => `${position} is null and seq < @unplacedSeq`,
  () => 'seq desc',
)
const placed = logPart(
  (position) => `${position} is not null and ${position} < @position and seq < @seq`,
  (position) => `${position} desc`,
)
/** Both parts in one snapshot, because an event gets its position at any time. */
export const newestEvents = sql<Newest, NewestRow>((d) => `${unplaced(d)} union all ${placed(d)}`)

const MOST = Number.MAX_SAFE_INTEGER

type Placed = Pick<NewestRow, 'position' | 'seq'>
/** The order of the log. */
export const byPlace = (a: Placed, b: Placed): number =>
  (a.position ?? MOST) - (b.position ?? MOST) || a.seq - b.seq

/** `EventStore.newest`. */
function* newest({ projectId, before = '', limit }: NewestEvents): Operation<ListedEvent[]> {
  const at = before === '' ? MOST : Number(before.slice(1))
  const isPlaced = before.startsWith('p')
  const bounds = isPlaced
    ? { position: at, seq: MOST, unplacedSeq: 0 }
    : { position: MOST, seq: at, unplacedSeq: at }
  const rows = yield* all(newestEvents, { projectId, rows: limit, ...bounds })
  return rows
    .toSorted((a, b) => byPlace(b, a))
    .slice(0, limit)
    .map(({ seq, position, hasDeliveries, ...event }) => ({
      ...event,
      hasDeliveries: Boolean(hasDeliveries),
      place: position === null ? `s${seq}` : `p${position}`,
    }))
}

export const publishedEvents = ({
  read,
  write,
}: Runner): Pick<EventStore, 'get' | 'newest' | 'eraseOf'> => ({
  newest: read(newest),
  get: read(function* (projectId, id) {
    return yield* one(byId, { projectId, id })
  }),
  eraseOf: write(eraseOf),
})
