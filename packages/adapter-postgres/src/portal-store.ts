import {
  insertList,
  PORTAL_COLUMNS,
  portalColumns,
  selectList,
  toPortalSession,
  type Instant,
  type PortalRow,
  type PortalSession,
  type PortalStore,
} from '@org/agent-messaging-core/storage'
import { recorded } from './recorded.js'
import type { Database, Queries } from './database.js'
import { sql } from './sql.js'

type Id = { readonly id: string }
type Ending = Id & { readonly projectId: string; readonly now: Instant }

const list = selectList(PORTAL_COLUMNS)
const byIdSql = sql<Id, PortalRow>(
  `select ${list} from agent_messaging.portal_sessions where id = @id`,
)
const byDigestSql = sql<{ readonly digest: string }, PortalRow>(
  `select ${list} from agent_messaging.portal_sessions where digest = @digest`,
)
const lockProjectSql = sql<{ readonly projectId: string }>(
  'select 1 from agent_messaging.projects where id = @projectId for no key update',
)
const deleteOldSql = sql<{ readonly createdAt: Instant }>(
  'delete from agent_messaging.portal_sessions where until <= @createdAt',
)
const countSql = sql<{ readonly projectId: string }, { readonly count: number }>(
  'select count(*) as count from agent_messaging.portal_sessions where project_id = @projectId',
)
const insertSql = sql<PortalRow & { readonly digest: string }>(
  `insert into agent_messaging.portal_sessions ${insertList([...PORTAL_COLUMNS, 'digest'])}`,
)
const openSql = sql<{ readonly digest: string; readonly now: Instant }, PortalRow>(`
  update agent_messaging.portal_sessions set opened_at = @now
  where digest = @digest and opened_at is null and ended_at is null and link_until > @now
  returning ${list}`)
const endSql = sql<Ending>(`
  update agent_messaging.portal_sessions set ended_at = @now
  where id = @id and project_id = @projectId and ended_at is null`)

export const portalStore = ({ read, write }: Database): PortalStore => ({
  create: (session, digest, limit, audit) =>
    write((db) => recorded(db, audit, create(db, session, digest, limit))),
  open: (digest, now) => write(async (db) => sessionIn(await db.one(openSql, { digest, now }))),
  findByDigest: (digest) => read(async (db) => sessionIn(await db.one(byDigestSql, { digest }))),
  find: (id) => read(async (db) => sessionIn(await db.one(byIdSql, { id }))),
  end: (projectId, id, now, audit) =>
    write((db) => recorded(db, audit, end(db, { projectId, id, now }))),
})

const sessionIn = (row: PortalRow | undefined): PortalSession | undefined =>
  row && toPortalSession(row)

async function create(
  db: Queries,
  session: PortalSession,
  digest: string,
  limit: number,
): Promise<'created' | 'project_not_found' | 'limit_reached'> {
  if (await db.one(byIdSql, session)) return 'created'
  if ((await db.run(lockProjectSql, session)) === 0) return 'project_not_found'
  await db.run(deleteOldSql, session)
  if (((await db.one(countSql, session))?.count ?? 0) >= limit) return 'limit_reached'
  await db.run(insertSql, { ...portalColumns(session), digest })
  return 'created'
}

async function end(db: Queries, ending: Ending): Promise<'ended' | 'already_ended' | undefined> {
  if ((await db.run(endSql, ending)) === 1) return 'ended'
  const row = await db.one(byIdSql, ending)
  return row?.projectId === ending.projectId ? 'already_ended' : undefined
}
