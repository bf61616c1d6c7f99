import {
  assignments,
  insertList,
  RECOVERY_COLUMNS,
  RECOVERY_UPDATE,
  recoveryAfterPage,
  recoveryColumns,
  selectList,
  toPage,
  toRecovery,
  type Instant,
  type Page,
  type PageOf,
  type Purge,
  type Recovery,
  type RecoveryRow,
  type RecoveryStore,
} from '@org/agent-messaging-core/storage'
import { recorded } from './recorded.js'
import type { Database, Queries } from './database.js'
import { pageStart } from './page.js'
import { redeliver } from './redelivery.js'
import { sql } from './sql.js'

type Ref = { readonly projectId: string; readonly id: string }
type Project = { readonly projectId: string }
type Columns = Omit<RecoveryRow, 'seq'>

const select = `select seq, ${selectList(RECOVERY_COLUMNS)} from agent_messaging.recoveries`
const ONE = 'where id = @id and project_id = @projectId'

const oneSql = sql<Ref, RecoveryRow>(`${select} ${ONE}`)
const lockOneSql = sql<Ref, RecoveryRow>(`${select} ${ONE} for update`)
const listSql = sql<Project & { readonly before: number; readonly rows: number }, RecoveryRow>(`
  ${select} where project_id = @projectId and seq < @before order by seq desc limit @rows`)
/** The row's lock is the claim of the page. It ends with the commit, or with the connection. */
const nextSql = sql<object, RecoveryRow>(`
  ${select} where finished_at is null order by last_page_at, seq limit 1 for update skip locked`)
const lockProjectSql = sql<Project>(
  'select 1 from agent_messaging.projects where id = @projectId for no key update',
)
const countRunningSql = sql<Project, { readonly count: number }>(`
  select count(*) as count from agent_messaging.recoveries
  where project_id = @projectId and finished_at is null`)
const webhookSql = sql<{ readonly webhookId: string }>(
  'select 1 from agent_messaging.webhooks where id = @webhookId and not is_deleted',
)
const insertSql = sql<Columns>(
  `insert into agent_messaging.recoveries ${insertList(RECOVERY_COLUMNS)}`,
)
const updateSql = sql<Columns>(
  `update agent_messaging.recoveries set ${assignments(RECOVERY_UPDATE)} where id = @id`,
)
/** `= any(array(…))`: see `cancelStale`. */
const purgeSql = sql<Purge>(`
  delete from agent_messaging.recoveries where seq = any(array(
    select seq from agent_messaging.recoveries where finished_at < @finishedBefore
    order by finished_at limit @limit))`)

const start = pageStart('recoveries')

export function recoveryStore({ read, write }: Database): RecoveryStore {
  return {
    create: (recovery, limit, audit) =>
      write((db) => recorded(db, audit, create(db, recovery, limit))),
    get: (projectId, id) =>
      read(async (db) => {
        const row = await db.one(oneSql, { projectId, id })
        return row && toRecovery(row)
      }),
    list: (projectId, page) => read((db) => pageOfRecoveries(db, projectId, page)),
    cancel: (projectId, id, now, audit) =>
      write((db) => recorded(db, audit, cancel(db, { projectId, id }, now))),
    advance: (step) => write((db) => advance(db, step)),
    purge: (purge) => write((db) => db.run(purgeSql, purge)),
  }
}

async function create(
  db: Queries,
  recovery: Recovery,
  limit: number,
): Promise<'created' | 'limit_reached'> {
  await db.run(lockProjectSql, recovery)
  if (await db.one(oneSql, recovery)) return 'created'
  if (((await db.one(countRunningSql, recovery))?.count ?? 0) >= limit) return 'limit_reached'
  await db.run(insertSql, recoveryColumns(recovery, recovery.createdAt))
  return 'created'
}

async function pageOfRecoveries(
  db: Queries,
  projectId: string,
  page: PageOf,
): Promise<Page<Recovery>> {
  const before = await start(db, page)
  const rows = await db.all(listSql, { projectId, before, rows: page.limit + 1 })
  return toPage(rows, page.limit, toRecovery)
}

async function cancel(
  db: Queries,
  ref: Ref,
  now: Instant,
): Promise<Recovery | 'already_final' | undefined> {
  const row = await db.one(lockOneSql, ref)
  if (row?.state !== 'running') return row && 'already_final'
  return save(db, { ...toRecovery(row), state: { kind: 'cancelled', finishedAt: now } }, now)
}

async function advance(
  db: Queries,
  { limit, now }: { readonly limit: number; readonly now: Instant },
): Promise<Recovery | undefined> {
  const row = await db.one(nextSql, {})
  if (!row) return undefined
  const recovery = toRecovery(row)
  const { id, projectId, filter, cursor, createdAt } = recovery
  const { webhookId } = filter
  if (webhookId !== undefined && (await db.run(webhookSql, { webhookId })) === 0) {
    const state = { kind: 'failed', finishedAt: now, reason: 'webhook_deleted' } as const
    return save(db, { ...recovery, state }, now)
  }
  const page = { limit, ...(cursor !== undefined && { cursor }) }
  const recovered = await redeliver(db, { ...filter, projectId }, page, now)
  const progress = recoveryAfterPage(recovery, recovered, now)
  return save(db, { id, projectId, filter, createdAt, ...progress }, now)
}

async function save(db: Queries, recovery: Recovery, now: Instant): Promise<Recovery> {
  await db.run(updateSql, recoveryColumns(recovery, now))
  return recovery
}
