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
import type { Database } from 'better-sqlite3'
import type { AuditRows } from './audit-rows.js'
import type { Committer } from './committer.js'

const select = `select ${selectList(PORTAL_COLUMNS)} from portal_sessions`

export function portalStore(
  db: Database,
  committer: Committer,
  { audit: log }: { readonly audit: AuditRows },
): PortalStore {
  const sql = prepare(db)

  function create(
    session: PortalSession,
    digest: string,
    limit: number,
  ): 'created' | 'project_not_found' | 'limit_reached' {
    if (sql.byId.get(session.id)) return 'created'
    if (!sql.project.get(session.projectId)) return 'project_not_found'
    sql.deleteOld.run(session.createdAt)
    if ((sql.count.get(session.projectId) ?? 0) >= limit) return 'limit_reached'
    sql.insert.run({ ...portalColumns(session), digest })
    return 'created'
  }

  function end(projectId: string, id: string, now: Instant): 'ended' | 'already_ended' | undefined {
    const row = sql.byId.get(id)
    if (row?.projectId !== projectId) return undefined
    if (row.endedAt !== null) return 'already_ended'
    sql.end.run(now, id)
    return 'ended'
  }

  return {
    create: (session, digest, limit, audit) =>
      committer.write(() => log.recorded(audit, create(session, digest, limit))),
    open: (digest, now) => committer.write(() => sessionIn(sql.open.get({ digest, now }))),
    findByDigest: (digest) => committer.read(() => sessionIn(sql.byDigest.get(digest))),
    find: (id) => committer.read(() => sessionIn(sql.byId.get(id))),
    end: (projectId, id, now, audit) =>
      committer.write(() => log.recorded(audit, end(projectId, id, now))),
  }
}

const sessionIn = (row: PortalRow | undefined): PortalSession | undefined =>
  row && toPortalSession(row)

const prepare = (db: Database) => ({
  project: db.prepare<[string]>('select 1 from projects where id = ?'),
  byId: db.prepare<[string], PortalRow>(`${select} where id = ?`),
  byDigest: db.prepare<[string], PortalRow>(`${select} where digest = ?`),
  insert: db.prepare<[PortalRow & { digest: string }]>(
    `insert into portal_sessions ${insertList([...PORTAL_COLUMNS, 'digest'])}`,
  ),
  deleteOld: db.prepare<[Instant]>('delete from portal_sessions where until <= ?'),
  count: db
    .prepare<[string], number>('select count(*) from portal_sessions where project_id = ?')
    .pluck(),
  open: db.prepare<[{ digest: string; now: Instant }], PortalRow>(`
    update portal_sessions set opened_at = @now
    where digest = @digest and opened_at is null and ended_at is null and link_until > @now
    returning ${selectList(PORTAL_COLUMNS)}`),
  end: db.prepare<[Instant, string]>('update portal_sessions set ended_at = ? where id = ?'),
})
