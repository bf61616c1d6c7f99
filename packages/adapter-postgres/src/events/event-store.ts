import { success } from '@org/agent-messaging-core/runtime'
import {
  isAnotherEvent,
  type EventPage,
  type EventsAfter,
  type EventStore,
  type LoggedEvent,
  type Stored,
} from '@org/agent-messaging-core/storage'
import {
  erasePrincipalEvents,
  eventListeners,
  eventPurge,
  lockLogs,
  publishedEvents,
} from '@org/agent-messaging-sql-kit'
import type { Gateway, Queries } from '../database/gateway.js'
import { perform, runnerOf } from '../database/operations.js'
import { sql } from '../database/sql.js'
import { publisher } from './publish-events.js'

// A sequence gives numbers before the commit, so a transaction that commits later can have a lower
// number. A reader that follows such numbers skips events. So an event is committed without a
// position. A reader that asks gives positions to all committed events of its project, in one
// transaction under the lock of the project's log. A send pays only for one index entry.

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

type Project = { readonly projectId: string }
type Log = { readonly lastPosition: number }

const lastPositionSql = sql<Project, Log>(`
  select last_position as "lastPosition" from agent_messaging.event_logs
  where project_id = @projectId`)
const placeSql = sql<Project & Log & { readonly limit: number }>(`
  with placed as (
    update agent_messaging.events e set position = @lastPosition::bigint + next.place
    from (
      select seq, row_number() over (order by seq) as place from (
        select seq from agent_messaging.events
        where project_id = @projectId and position is null order by seq limit @limit) unplaced) next
    where e.seq = next.seq returning 1)
  update agent_messaging.event_logs
  set last_position = @lastPosition::bigint + (select count(*) from placed)
  where project_id = @projectId`)

/**
 * Gives positions to up to `limit` events of the project, within a transaction. The statements
 * after the lock see all events that were committed before.
 */
async function placeEvents(db: Queries, projectId: string, limit: number): Promise<void> {
  await perform(db, lockLogs, [{ projectId }])
  const { lastPosition = 0 } = (await db.one(lastPositionSql, { projectId })) ?? {}
  await db.run(placeSql, { projectId, lastPosition, limit })
}

/** An event wakes all readers of its project at once. They share a few reads and one write. */
export function eventStore(gateway: Gateway): EventStore {
  const { gathered, grouped, read, write } = gateway
  const find = gathered(findAll)
  const place = grouped<string, undefined>({
    maxBatchSize: MOST_READERS,
    maxInFlight: 1,
    inTransaction: true,
    flush: placeAll,
  })
  const runner = runnerOf(gateway)
  const { listen, positionAt } = eventListeners(runner)
  async function placed(query: EventsAfter): Stored<unknown> {
    const found = await find(query)
    if (!found.ok || isComplete(found.value, query)) return found
    const put = await place(query.projectId)
    return put.ok ? placed(query) : put
  }
  return {
    ...publishedEvents(runner),
    publish: publisher(gateway),
    ...eventPurge(runner),
    listen,
    positionAt: async (query) => {
      const all = await placed({
        projectId: query.projectId,
        after: Number.MAX_SAFE_INTEGER,
        limit: 1,
      })
      return all.ok ? positionAt(query) : all
    },
    list: async (query) => {
      let found = await find(query)
      if (found.ok && !isComplete(found.value, query)) {
        const put = await place(query.projectId)
        found = put.ok ? await find(query) : put
      }
      return found.ok ? success(pageOf(found.value, query)) : found
    },
    findNew: (tails) =>
      read(async (db) => {
        const rows = await db.all(newEventsSql, {
          projectIds: tails.map(({ projectId }) => projectId),
          afters: tails.map(({ after }) => after),
        })
        return rows.map(({ projectId }) => projectId)
      }),
    erasePrincipal: (step) =>
      write(async (db) => {
        await placeEvents(db, step.projectId, MOST_PLACED)
        return perform(db, erasePrincipalEvents, step)
      }),
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
