import type { EventsBefore, EventStore, ListenStep } from '@org/agent-messaging-core/storage'
import { one, run, sql, type Runner } from './operation.js'

type Claim = Omit<ListenStep, 'cursor'> & { readonly cursor: string | null }
type Place = { readonly cursor: string }

/** An owner without a cursor takes over, or its earlier claim got no answer. */
const hold = sql<Claim, Place>(
  ({ schema }) => `
    update ${schema}event_listeners
    set cursor = case when owner = @owner then coalesce(@cursor, cursor) else cursor end,
      owner = @owner, owned_until = @until
    where project_id = @projectId and name = @name and (owner = @owner or owned_until <= @now)
    returning cursor`,
)
const insert = sql<Claim>(
  ({ schema }) => `
    insert into ${schema}event_listeners (project_id, name, cursor, owner, owned_until)
    values (@projectId, @name, @cursor, @owner, @until) on conflict do nothing`,
)
const find = sql<Claim, Place>(
  ({ schema }) => `
    select cursor from ${schema}event_listeners where project_id = @projectId and name = @name`,
)
export const positionAtSql = sql<EventsBefore, { readonly position: number }>(
  ({ schema, position }) => `
    select coalesce(
      (select ${position} from ${schema}events
        where project_id = @projectId and ${position} is not null and created_at < @createdBefore
        order by ${position} desc limit 1),
      (select floor from ${schema}event_logs where project_id = @projectId), 0) as position`,
)

/** `EventStore.positionAt` reads only events that have a position. */
export const eventListeners = ({
  read,
  write,
}: Runner): Pick<EventStore, 'listen' | 'positionAt'> => ({
  listen: write(function* ({ cursor = null, ...step }) {
    const claim = { ...step, cursor }
    const held = yield* one(hold, claim)
    if (held) return held
    if (cursor !== null && (yield* run(insert, claim)) === 1) return { cursor }
    return (yield* one(find, claim)) ? 'held' : 'new'
  }),
  positionAt: read(function* (query) {
    return (yield* one(positionAtSql, query))?.position ?? 0
  }),
})
