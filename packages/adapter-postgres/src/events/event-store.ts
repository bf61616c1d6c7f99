import {
  endUserMark,
  isAnotherEvent,
  isForEndUser,
  type ErasedEvents,
  type EventPage,
  type EventPurge,
  type EventsAfter,
  type EventStore,
  type LoggedEvent,
  type PrincipalStep,
} from '@org/agent-messaging-core/storage'
import { ok } from 'neverthrow'
import { recorded } from '../access/recorded.js'
import type { Database, Queries } from '../database/database.js'
import { lockLogs, placeEvents, raiseFloorsSql } from './event-log.js'
import { sql } from '../database/sql.js'

type Ends = {
  readonly lastPosition: number
  readonly floor: number
  readonly hasUnplaced: boolean
  /** The id of the event at the position `after`. */
  readonly afterId: string | null
}
/** The log, with one row for each event. Without an event, one row with nulls. */
type LogRow = Ends & { readonly [K in keyof LoggedEvent]: LoggedEvent[K] | null }
type Found = Ends & { readonly events: readonly LoggedEvent[] }

/** Events that get their positions in one transaction. */
const MOST_PLACED = 1_000
/** Readers whose placements share a transaction. */
const MOST_READERS = 10_000

export const loggedEventsSql = sql<EventsAfter, LogRow>(`
  select l.last_position as "lastPosition", l.floor,
    exists (select 1 from agent_messaging.events u
      where u.project_id = l.project_id and u.position is null) as "hasUnplaced",
    (select a.id from agent_messaging.events a where a.project_id = l.project_id
      and a.position is not null and a.position = @after::bigint) as "afterId",
    e.position, e.id, e.name, e.body
  from agent_messaging.event_logs l left join lateral (
    select position, id, name, body from agent_messaging.events
    where project_id = l.project_id and position is not null
      and position > coalesce(@after::bigint, l.floor)
    order by position limit @limit) e on true
  where l.project_id = @projectId order by e.position`)
export const newEventsSql = sql<
  { readonly projectIds: readonly string[]; readonly afters: readonly number[] },
  { readonly projectId: string }
>(`
  select tail.project_id as "projectId"
  from unnest(@projectIds::text[], @afters::bigint[]) as tail (project_id, after)
  where exists (select 1 from agent_messaging.events e
      where e.project_id = tail.project_id and e.position is null)
    or exists (select 1 from agent_messaging.events e
      where e.project_id = tail.project_id and e.position is not null and e.position > tail.after)`)

export const oldEventsSql = sql<EventPurge, { readonly seq: number; readonly projectId: string }>(`
  select seq, project_id as "projectId" from agent_messaging.events
  where not has_deliveries and created_at < @createdBefore order by created_at limit @limit`)
type Seqs = { readonly seqs: readonly number[] }
const lockEventsSql = sql<Seqs>(
  'select 1 from agent_messaging.events where seq = any(@seqs::bigint[]) order by seq for update',
)
const deleteSql = `
  delete from agent_messaging.events where seq = any(@seqs::bigint[]) and not has_deliveries
  returning project_id, position`
const purgeSql = raiseFloorsSql<Seqs>(deleteSql)
const eraseSql = sql<Seqs>(deleteSql)

type Bounds = { readonly last: number; readonly mark: string }
const lastSql = sql<PrincipalStep & { readonly skipped: number }, { readonly position: number }>(`
  select position from agent_messaging.events
  where project_id = @projectId and position is not null and position > @after
  order by position limit 1 offset @skipped`)
export const principalEventsSql = sql<
  PrincipalStep & Bounds,
  { readonly seq: number; readonly body: string }
>(`
  select seq, body from agent_messaging.events
  where project_id = @projectId and position is not null and position > @after
    and position <= @last and not has_deliveries and position(@mark in body) > 0`)

/** An event wakes all readers of its project at once. They share a few reads and one write. */
export function eventStore(database: Database): EventStore {
  const { gathered, grouped, read, write } = database
  const find = gathered(findAll)
  const place = grouped<string, undefined>({
    maxBatchSize: MOST_READERS,
    maxInFlight: 1,
    inTransaction: true,
    flush: placeAll,
  })
  return {
    list: (query) =>
      find(query).andThen((found) =>
        isComplete(found, query)
          ? ok(pageOf(found, query))
          : place(query.projectId)
              .andThen(() => find(query))
              .map((placed) => pageOf(placed, query)),
      ),
    findNew: (tails) =>
      read(async (db) => {
        const rows = await db.all(newEventsSql, {
          projectIds: tails.map(({ projectId }) => projectId),
          afters: tails.map(({ after }) => after),
        })
        return rows.map(({ projectId }) => projectId)
      }),
    purge: (query) => write((db) => purge(db, query)),
    erasePrincipal: (step) => write((db) => erasePrincipal(db, step)),
  }
}

/** Reads each page once, however many readers ask for it. */
async function findAll(
  db: Queries,
  queries: readonly EventsAfter[],
): Promise<(Found | undefined)[]> {
  const pages = new Map<string, Promise<Found | undefined>>()
  const found = queries.map((query) => {
    const key = JSON.stringify([query.projectId, query.after, query.limit])
    const page = pages.get(key) ?? findPage(db, query)
    pages.set(key, page)
    return page
  })
  return Promise.all(found)
}

async function placeAll(db: Queries, projectIds: readonly string[]): Promise<undefined[]> {
  for (const projectId of [...new Set(projectIds)].sort())
    await placeEvents(db, projectId, MOST_PLACED)
  return projectIds.map(() => undefined)
}

/** Reads the log with one statement, so that no purge runs between two reads. */
async function findPage(db: Queries, query: EventsAfter): Promise<Found | undefined> {
  const rows = await db.all(loggedEventsSql, query)
  const [first] = rows
  if (!first) return undefined
  const { lastPosition, floor, hasUnplaced, afterId } = first
  const events = rows.flatMap(({ position, id, name, body }) =>
    position === null || id === null || name === null || body === null
      ? []
      : { position, id, name, body },
  )
  return { lastPosition, floor, hasUnplaced, afterId, events }
}

/** False if the page can have more events, which have no position yet. */
const isComplete = (found: Found | undefined, { limit }: EventsAfter): boolean =>
  found !== undefined && (!found.hasUnplaced || found.events.length === limit)

function pageOf(found: Found | undefined, { after, mark }: EventsAfter): EventPage | 'expired' {
  const { lastPosition = 0, floor = 0, afterId, events = [] } = found ?? {}
  const start = after ?? floor
  if (start < floor || start > lastPosition) return 'expired'
  if (isAnotherEvent(mark, afterId ?? undefined)) return 'expired'
  return { events, next: events.at(-1)?.position ?? start }
}

async function purge(db: Queries, query: EventPurge): Promise<number> {
  const rows = await db.all(oldEventsSql, query)
  if (rows.length === 0) return 0
  const seqs = rows.map(({ seq }) => seq)
  await lockLogs(
    db,
    rows.map(({ projectId }) => projectId),
  )
  await db.run(lockEventsSql, { seqs })
  return (await db.one(purgeSql, { seqs }))?.count ?? 0
}

/** Walks over positions, so all events get one first. */
async function erasePrincipal(db: Queries, step: PrincipalStep): Promise<ErasedEvents> {
  await placeEvents(db, step.projectId, MOST_PLACED)
  const next = (await db.one(lastSql, { ...step, skipped: step.limit - 1 }))?.position
  const bounds = { mark: endUserMark(step.endUserId), last: next ?? Number.MAX_SAFE_INTEGER }
  const rows = await db.all(principalEventsSql, { ...step, ...bounds })
  const seqs = rows
    .filter(({ body }) => isForEndUser(body, step.endUserId))
    .map(({ seq }) => seq)
    .sort((a, b) => a - b)
  if (!step.countOnly) {
    await db.run(lockEventsSql, { seqs })
    await db.run(eraseSql, { seqs })
    await recorded(db, step.audit, seqs.length > 0)
  }
  return { events: seqs.length, ...(next !== undefined && { next }) }
}
