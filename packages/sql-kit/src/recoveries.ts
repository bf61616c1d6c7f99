import {
  assignments,
  insertList,
  RECOVERY_COLUMNS,
  RECOVERY_UPDATE,
  recoveryAfterPage,
  recoveryColumns,
  selectList,
  toRecovery,
  type Instant,
  type Purge,
  type Recovery,
  type RecoveryRow,
  type RecoveryStore,
} from '@org/agent-messaging-core/storage'
import { record } from './audit.js'
import { atMost, type Dialect } from './dialect.js'
import { one, run, sql, type Operation, type Runner } from './operation.js'
import { pagesOf, countIn, lockProject, type OfProject } from './pages.js'
import { redeliver } from './redelivery.js'

type Ref = OfProject & { readonly id: string }
type Columns = Omit<RecoveryRow, 'seq'>

const select = ({ schema }: Dialect): string =>
  `select seq, ${selectList(RECOVERY_COLUMNS)} from ${schema}recoveries`
const ofProject = (d: Dialect): string => `${select(d)} where project_id = @projectId`
const get = sql<Ref, RecoveryRow>((d) => `${ofProject(d)} and id = @id`)
const lock = sql<Ref, RecoveryRow>((d) => `${get(d)} ${d.lock('update')}`)
/** The row's lock is the claim of the page. It ends with the commit, or with the connection. */
const next = sql<object, RecoveryRow>(
  (d) => `
    ${select(d)} where finished_at is null order by last_page_at, seq limit 1
    ${d.lock('update skip locked')}`,
)
const countRunning = countIn('recoveries', () => 'finished_at is null')
const webhook = sql<{ readonly webhookId: string }>(
  ({ schema, not }) =>
    `select 1 from ${schema}webhooks where id = @webhookId and ${not('is_deleted')}`,
)
const insert = sql<Columns>(
  ({ schema }) => `insert into ${schema}recoveries ${insertList(RECOVERY_COLUMNS)}`,
)
const update = sql<Columns>(
  ({ schema }) => `update ${schema}recoveries set ${assignments(RECOVERY_UPDATE)} where id = @id`,
)
const purge = sql<Purge>(
  ({ schema, among }) => `
    delete from ${schema}recoveries where ${among(
      'seq',
      `select seq from ${schema}recoveries where finished_at < @finishedBefore
      order by finished_at ${atMost('@limit')}`,
    )}`,
)

function* save(recovery: Recovery, now: Instant): Operation<Recovery> {
  yield* run(update, recoveryColumns(recovery, now))
  return recovery
}

export const recoveryStore = ({ read, write }: Runner): RecoveryStore => ({
  create: write(function* (recovery, limit, audit) {
    yield* run(lockProject, recovery)
    if (yield* one(get, recovery)) return 'created'
    if ((yield* countRunning(recovery)) >= limit) return 'limit_reached'
    yield* run(insert, recoveryColumns(recovery, recovery.createdAt))
    yield* record(audit)
    return 'created'
  }),
  get: read(function* (projectId, id) {
    const row = yield* one(get, { projectId, id })
    return row && toRecovery(row)
  }),
  list: read(pagesOf('recoveries', ofProject, toRecovery)),
  cancel: write(function* (projectId, id, now, audit) {
    const row = yield* one(lock, { projectId, id })
    if (row?.state !== 'running') return row && 'already_final'
    yield* record(audit)
    return yield* save({ ...toRecovery(row), state: { kind: 'cancelled', finishedAt: now } }, now)
  }),
  advance: write(function* ({ limit, now }) {
    const row = yield* one(next, {})
    if (!row) return undefined
    const recovery = toRecovery(row)
    const { id, projectId, filter, cursor, createdAt } = recovery
    const { webhookId } = filter
    if (webhookId !== undefined && !(yield* one(webhook, { webhookId }))) {
      const state = { kind: 'failed', finishedAt: now, reason: 'webhook_deleted' } as const
      return yield* save({ ...recovery, state }, now)
    }
    const page = { limit, ...(cursor !== undefined && { cursor }) }
    const recovered = yield* redeliver({ ...filter, projectId }, page, now)
    const progress = recoveryAfterPage(recovery, recovered, now)
    return yield* save({ id, projectId, filter, createdAt, ...progress }, now)
  }),
  purge: write((before) => run(purge, before)),
})
