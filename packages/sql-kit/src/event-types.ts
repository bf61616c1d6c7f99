import {
  EVENT_TYPE_COLUMNS,
  eventTypeColumns,
  INSTALLATION,
  insertList,
  LISTED_TYPE_COLUMNS,
  oncePerName,
  selectList,
  toEventType,
  toListedType,
  type EventType,
  type EventTypeRow,
  type EventTypeStore,
  type ListedTypeRow,
} from '@org/agent-messaging-core/storage'
import { record } from './audit.js'
import type { Dialect } from './dialect.js'
import { all, one, run, sql, type Operation, type Runner } from './operation.js'
import { countIn, lockProject, type OfProject } from './pages.js'

type Ref = OfProject & { readonly name: string }
type Names = OfProject & { readonly names: readonly string[] }

const ofBoth = `project_id in ('${INSTALLATION}', @projectId)`
const select = ({ schema }: Dialect): string =>
  `select ${selectList(EVENT_TYPE_COLUMNS)} from ${schema}event_types where`
const get = sql<Ref, EventTypeRow>(
  (d) => `${select(d)} project_id = @projectId and name = @name ${d.lock('no key update')}`,
)
const find = sql<Names, EventTypeRow>(
  (d) => `${select(d)} ${ofBoth} and ${d.oneOf('name', 'names')}`,
)
const list = sql<OfProject, ListedTypeRow>(
  ({ schema }) => `
    select ${selectList(LISTED_TYPE_COLUMNS)} from ${schema}event_types
    where ${ofBoth}`,
)
const count = countIn('event_types')
const put = sql<EventTypeRow, EventTypeRow>(
  ({ schema }) => `
    insert into ${schema}event_types ${insertList(EVENT_TYPE_COLUMNS)}
    on conflict (project_id, name) do update set facts = excluded.facts,
      schema = excluded.schema, example = excluded.example, updated_at = excluded.updated_at
    returning ${selectList(EVENT_TYPE_COLUMNS)}`,
)
const erase = sql<Ref, EventTypeRow>(
  ({ schema }) => `
    delete from ${schema}event_types where project_id = @projectId and name = @name
    returning ${selectList(EVENT_TYPE_COLUMNS)}`,
)

const visible = <Row extends ListedTypeRow>(rows: readonly Row[]): Row[] =>
  oncePerName(
    rows.filter(({ projectId }) => projectId === INSTALLATION),
    rows.filter(({ projectId }) => projectId !== INSTALLATION),
  )

/** `EventTypeStore.find`. */
export function* findEventTypes(
  projectId: string | undefined,
  names: readonly string[],
): Operation<EventType[]> {
  const asked = { projectId: projectId ?? INSTALLATION, names }
  return visible(yield* all(find, asked)).map(toEventType)
}

export const eventTypeStore = ({ read, write }: Runner): EventTypeStore => ({
  put: write(function* (projectId = INSTALLATION, type, limit, audit) {
    const { name } = type
    if (projectId !== INSTALLATION) {
      if ((yield* run(lockProject, { projectId })) === 0) return 'project_not_found'
      if (yield* one(get, { projectId: INSTALLATION, name })) return 'name_taken'
    }
    const before = yield* one(get, { projectId, name })
    if (!before && (yield* count({ projectId })) >= limit) return 'limit_reached'
    const row = yield* one(put, eventTypeColumns(projectId, type))
    const after = toEventType(row as EventTypeRow)
    yield* record(audit, after, before && toEventType(before))
    return after
  }),
  delete: write(function* (projectId = INSTALLATION, name, audit) {
    const row = yield* one(erase, { projectId, name })
    if (!row) return false
    yield* record(audit, toEventType(row))
    return true
  }),
  list: read(function* (projectId = INSTALLATION) {
    return visible(yield* all(list, { projectId })).map(toListedType)
  }),
  find: read(findEventTypes),
})
