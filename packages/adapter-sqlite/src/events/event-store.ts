import {
  isAnotherEvent,
  type EventPage,
  type EventsAfter,
  type EventStore,
  type EventTail,
  type LoggedEvent,
} from '@org/agent-messaging-core/storage'
import {
  erasePrincipalEvents,
  eventListeners,
  eventPurge,
  publishedEvents,
  type Runner,
} from '@org/agent-messaging-sql-kit'
import type { Database } from 'better-sqlite3'
import type { GroupCommitter } from '../database/group-committer.js'
import { atMost } from '../database/statements.js'
import { publishing, type PublishParts } from './publish-events.js'

type Ends = { readonly floor: number; readonly last: number }

/** The position of an event is its `seq`. */
export function eventStore(
  db: Database,
  committer: GroupCommitter,
  runner: Runner,
  parts: PublishParts,
): EventStore {
  const list = db.transaction(eventList(db))
  const findNew = newEvents(db)
  const publish = publishing(db, parts)
  return {
    ...publishedEvents(runner),
    publish: (publication) => committer.write(() => publish(publication)),
    ...eventPurge(runner),
    ...eventListeners(runner),
    list: (query) => committer.read(() => list(query)),
    findNew: (tails) => committer.read(() => findNew(tails)),
    // A write even to count, because other operations run between two writes.
    erasePrincipal: runner.write(erasePrincipalEvents),
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
