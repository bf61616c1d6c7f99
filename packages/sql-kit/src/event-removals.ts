import {
  endUserMark,
  isForEndUser,
  type ErasedEvents,
  type EventPurge,
  type EventStore,
  type OfPerson,
  type PrincipalStep,
} from '@org/agent-messaging-core/storage'
import { record } from './audit.js'
import { atMost } from './dialect.js'
import { all, one, run, sql, type Operation, type Runner, type Sql } from './operation.js'

type Seqs = { readonly seqs: readonly number[] }
type Seq = { readonly seq: number }
type ProjectIds = { readonly projectIds: readonly string[] }
type OfProject = { readonly projectId: string }
/** On PostgreSQL, an event that no reader has asked for has no position yet. */
export type DeletedEvent = OfProject & { readonly position: number | null }
type Log = { readonly project_id: string; readonly position: number; readonly unplaced: boolean }
export type Marked = PrincipalStep & { readonly last: number; readonly mark: string }

const addLogs = sql<ProjectIds>(
  ({ schema, each }) => `
    insert into ${schema}event_logs (project_id, floor)
    select value, 0 from ${each('projectIds')} where true on conflict do nothing`,
)
const lockLog = sql<ProjectIds>(
  ({ schema, oneOf, lock }) => `
    select 1 from ${schema}event_logs where ${oneOf('project_id', 'projectIds')}
    ${lock('update', 'project_id')}`,
)
const raise = sql<{ readonly logs: string }>(
  ({ schema, records, raiseFloor }) => `
    update ${schema}event_logs as l set ${raiseFloor}
    from ${records('logs', { project_id: 'text', position: 'bigint', unplaced: 'boolean' })} as g
    where l.project_id = g.project_id`,
)
/** An id that is remembered keeps its event. */
export const FORGOTTEN = '(fingerprint is null or created_at < @idsBefore)'
const oldPart = (which: string) =>
  (({ schema, not }) => `
    select * from (
      select seq, project_id as "projectId" from ${schema}events
      where ${not('has_deliveries')} and ${which} order by created_at ${atMost('@limit')}) as part`) satisfies Sql
const oldUnnamed = oldPart('fingerprint is null and created_at < @createdBefore')
const oldNamed = oldPart('fingerprint is not null and created_at < @idsBefore')
export const oldEvents = sql<Required<EventPurge>, Seq & OfProject>(
  (d) => `${oldUnnamed(d)} union all ${oldNamed(d)}`,
)
const forgetRequests = sql<Required<EventPurge>>(
  ({ schema, among }) => `
    delete from ${schema}publish_requests where created_at < @idsBefore and ${among(
      'request_key',
      `select request_key from ${schema}publish_requests
      where created_at < @idsBefore order by created_at ${atMost('@limit')}`,
    )}`,
)
const lastRead = sql<PrincipalStep, { readonly position: number }>(
  ({ schema, position }) => `
    select ${position} as position from ${schema}events
    where project_id = @projectId and ${position} is not null and ${position} > @after
    order by ${position} limit 1 offset @limit - 1`,
)
export const principalEvents = sql<Marked, Seq & OfPerson>(
  ({ schema, position, not, contains }) => `
    select seq, name, body, end_user_id as "endUserId" from ${schema}events
    where project_id = @projectId and ${position} is not null and ${position} > @after
      and ${position} <= @last and ${not('has_deliveries')}
      and (${contains('body', 'mark')} or end_user_id = @endUserId)`,
)
const lock = sql<Seqs>(
  (d) => `
    select 1 from ${d.schema}events where ${d.oneOf('seq', 'seqs', 'bigint')}
    ${d.lock('update', 'seq')}`,
)
const remove = sql<Seqs, DeletedEvent>(
  ({ schema, oneOf, not, position }) => `
    delete from ${schema}events where ${oneOf('seq', 'seqs', 'bigint')} and ${not('has_deliveries')}
    returning project_id as "projectId", ${position} as position`,
)

/** Locks the logs of projects. Lock events only after that, in the order of their seq. */
export function* lockLogs(rows: readonly OfProject[]): Operation<void> {
  const projectIds = [...new Set(rows.map(({ projectId }) => projectId))].sort()
  if (projectIds.length === 0) return
  yield* run(addLogs, { projectIds })
  yield* run(lockLog, { projectIds })
}

export const lockEvents = (seqs: readonly number[]): Operation<number> => run(lock, { seqs })

/**
 * Expires the positions before deleted events, whose logs are locked. An event without a position
 * takes the next one, so that all positions that readers have expire.
 */
export function* raiseFloors(deleted: readonly DeletedEvent[]): Operation<void> {
  const logs = new Map<string, Log>()
  for (const { projectId, position } of deleted) {
    const known = logs.get(projectId)
    logs.set(projectId, {
      project_id: projectId,
      position: Math.max(position ?? 0, known?.position ?? 0),
      unplaced: position === null || known?.unplaced === true,
    })
  }
  if (logs.size > 0) yield* run(raise, { logs: JSON.stringify([...logs.values()]) })
}

/** `EventStore.erasePrincipal`. Walks over positions, so all events must have one. */
export function* erasePrincipalEvents(step: PrincipalStep): Operation<ErasedEvents> {
  const next = (yield* one(lastRead, step))?.position
  const bounds = { mark: endUserMark(step.endUserId), last: next ?? Number.MAX_SAFE_INTEGER }
  const rows = yield* all(principalEvents, { ...step, ...bounds })
  const seqs = rows
    .filter((event) => isForEndUser(event, step.endUserId))
    .map(({ seq }) => seq)
    .sort((a, b) => a - b)
  if (!step.countOnly && seqs.length > 0) {
    yield* lockEvents(seqs)
    yield* run(remove, { seqs })
    yield* record(step.audit)
  }
  return { events: seqs.length, next }
}

export const removeEvents = (seqs: readonly number[]): Operation<number> => run(remove, { seqs })

export const eventPurge = ({ write }: Runner): Pick<EventStore, 'purge'> => ({
  purge: write(function* (asked) {
    const query = { idsBefore: asked.createdBefore, ...asked }
    const rows = (yield* all(oldEvents, query)).slice(0, asked.limit)
    const seqs = rows.map(({ seq }) => seq)
    yield* lockLogs(rows)
    yield* lockEvents(seqs)
    const deleted = yield* all(remove, { seqs })
    yield* raiseFloors(deleted)
    return deleted.length + (yield* run(forgetRequests, query))
  }),
})
