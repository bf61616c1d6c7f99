import {
  endUserMark,
  isAnotherEvent,
  isForEndUser,
  type ErasedEvents,
  type EventPage,
  type EventPurge,
  type EventsAfter,
  type EventStore,
  type EventTail,
  type LoggedEvent,
  type PrincipalStep,
} from '@org/agent-messaging-core/storage'
import type { Database } from 'better-sqlite3'
import { entryOf, type AuditRows } from '../access/recorded.js'
import type { Committer } from '../database/committer.js'
import { atMost } from '../database/statements.js'

export type DeletedEvent = { readonly seq: number; readonly projectId: string }
type Ends = { readonly floor: number; readonly last: number }

const GIVEN = '(select value from json_each(?))'

/** The position of an event is its `seq`. */
export function eventStore(db: Database, committer: Committer, audit: AuditRows): EventStore {
  const list = db.transaction(eventList(db))
  const findNew = newEvents(db)
  const purge = eventPurge(db)
  const erasePrincipal = principalEvents(db)
  return {
    list: (query) => committer.read(() => list(query)),
    findNew: (tails) => committer.read(() => findNew(tails)),
    purge: (query) => committer.write(() => purge(query)),
    // A write even to count, because other operations run between two writes.
    erasePrincipal: (step) =>
      committer.write(() => audit.recordedRows(entryOf(step), erasePrincipal(step), 'events')),
  }
}

/** In one transaction, so that no purge runs between the two reads. */
function eventList(db: Database): (query: EventsAfter) => EventPage | 'expired' {
  const endsOf = db.prepare<[string], Ends>(`
    select coalesce((select floor from event_logs where project_id = ?), 0) as floor,
      coalesce((select seq from sqlite_sequence where name = 'events'), 0) as last`)
  const read = db.prepare<[string, number, number], LoggedEvent>(
    `select seq as position, id, name, body from events where project_id = ? and seq > ? order by seq ${atMost('?')}`,
  )
  const idAt = db
    .prepare<[string, number], string>('select id from events where project_id = ? and seq = ?')
    .pluck()
  return ({ projectId, after, mark, limit }) => {
    const { floor, last } = endsOf.get(projectId) as Ends
    const start = after ?? floor
    if (start < floor || start > last) return 'expired'
    if (mark !== undefined && isAnotherEvent(mark, idAt.get(projectId, start))) return 'expired'
    const events = read.all(projectId, start, limit)
    return { events, next: events.at(-1)?.position ?? start }
  }
}

function newEvents(db: Database): (tails: readonly EventTail[]) => string[] {
  const find = db
    .prepare<[string], string>(
      `select value ->> 'projectId' from json_each(?)
       where exists (select 1 from events where project_id = value ->> 'projectId' and seq > value ->> 'after')`,
    )
    .pluck()
  return (tails) => find.all(JSON.stringify(tails))
}

/** Returns a function that expires the positions before deleted events, in a transaction. */
export function eventFloors(db: Database): (deleted: readonly DeletedEvent[]) => void {
  const raise = db.prepare<[string, number]>(`
    insert into event_logs (project_id, floor) values (?, ?)
    on conflict do update set floor = max(floor, excluded.floor)`)
  return (deleted) => {
    const floors = new Map<string, number>()
    for (const { projectId, seq } of deleted)
      floors.set(projectId, Math.max(seq, floors.get(projectId) ?? 0))
    for (const [projectId, floor] of floors) raise.run(projectId, floor)
  }
}

function eventPurge(db: Database): (purge: EventPurge) => number {
  const old = db.prepare<[EventPurge], DeletedEvent>(
    `select seq, project_id as projectId from events where has_deliveries = 0 and created_at < @createdBefore order by created_at ${atMost('@limit')}`,
  )
  const remove = db.prepare<[string]>(`delete from events where seq in ${GIVEN}`)
  const raise = eventFloors(db)
  return (purge) => {
    const rows = old.all(purge)
    remove.run(JSON.stringify(rows.map(({ seq }) => seq)))
    raise(rows)
    return rows.length
  }
}

type Bounds = { readonly last: number; readonly mark: string }

function principalEvents(db: Database): (step: PrincipalStep) => ErasedEvents {
  const lastOf = db
    .prepare<[PrincipalStep], number>(
      'select seq from events where project_id = @projectId and seq > @after order by seq limit 1 offset @limit - 1',
    )
    .pluck()
  const marked = db.prepare<[PrincipalStep & Bounds], { seq: number; body: string }>(`
    select seq, body from events
    where project_id = @projectId and seq > @after and seq <= @last and has_deliveries = 0 and instr(body, @mark) > 0`)
  const remove = db.prepare<[string]>(`delete from events where seq in ${GIVEN}`)
  return (step) => {
    const next = lastOf.get(step)
    const bounds = { mark: endUserMark(step.endUserId), last: next ?? Number.MAX_SAFE_INTEGER }
    const erased = marked
      .all({ ...step, ...bounds })
      .filter(({ body }) => isForEndUser(body, step.endUserId))
    if (!step.countOnly) remove.run(JSON.stringify(erased.map(({ seq }) => seq)))
    return { events: erased.length, ...(next !== undefined && { next }) }
  }
}
