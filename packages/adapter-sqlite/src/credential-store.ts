import type { Database } from 'better-sqlite3'
import {
  API_KEY_COLUMNS,
  apiKeyColumns,
  ENDED_SIGN_IN,
  insertList,
  selectList,
  toApiKey,
  toIso,
  toPage,
  type ApiKey,
  type ApiKeyRow,
  type CredentialStore,
  type Instant,
  type Page,
  type PageOf,
  limitsColumn,
  toProject,
  type Project,
  type ProjectRow,
} from '@org/agent-messaging-core/storage'
import type { AuditRows } from './audit-rows.js'
import type { Committer } from './committer.js'
import { atMost, pageStart } from './statements.js'
import { VersionedCache } from './versioned-cache.js'

/** Sorts after all names that begin with `ENDED_SIGN_IN`. */
const AFTER_ENDED_SIGN_INS = 'ended-sign-in0'

const selectProject =
  'select id, name, created_at as createdAt, send_limits as sendLimits from projects'
const selectKey = `select ${selectList(API_KEY_COLUMNS)} from api_keys`

type ProjectsPage = { readonly limit: number; readonly cursor?: string | null }

const projectOf = (row: ProjectRow | undefined): Project | undefined => row && toProject(row)

export function credentialStore(
  db: Database,
  committer: Committer,
  { audit: log }: { readonly audit: AuditRows },
): CredentialStore {
  const sql = prepare(db)
  const start = pageStart(db, 'api_keys')
  const cache = new VersionedCache<string, ApiKey | undefined>(db)

  function createKey(
    key: ApiKey,
    digest: string,
    limit: number,
  ): 'created' | 'digest_taken' | 'project_not_found' | 'limit_reached' {
    if (sql.keyById.get(key.id)) return 'created'
    if (!sql.project.get(key.projectId)) return 'project_not_found'
    if (sql.keyByDigest.get(digest)) return 'digest_taken'
    if ((sql.countGood.get(key.projectId, key.createdAt) ?? 0) >= limit) return 'limit_reached'
    cache.clear()
    sql.insertKey.run({ ...apiKeyColumns(key), digest })
    return 'created'
  }

  function revokeKey(
    projectId: string,
    id: string,
    now: number,
  ): 'revoked' | 'already_revoked' | undefined {
    const row = sql.keyById.get(id)
    if (row?.projectId !== projectId) return undefined
    if (row.revokedAt !== null) return 'already_revoked'
    cache.clear()
    sql.revoke.run(now, id)
    return 'revoked'
  }

  function findByDigest(digest: string): ApiKey | undefined {
    const row = sql.keyByDigest.get(digest)
    return row && toApiKey(row)
  }

  const pageOfProjects = ({ limit, cursor = null }: ProjectsPage): Page<Project> =>
    toPage(sql.projects.all(cursor, limit + 1), limit, toProject)

  const pageOfKeys = (projectId: string, page: PageOf): Page<ApiKey> =>
    toPage(sql.keys.all(projectId, start(page), page.limit + 1), page.limit, toApiKey)

  return {
    createProject: (row, audit) =>
      committer.write(() => {
        sql.insertProject.run({ ...row, sendLimits: limitsColumn(row.sendLimits) })
        return log.recorded(audit, 'created' as const)
      }),
    updateProject: (id, { sendLimits }, audit) =>
      committer.write(() => {
        const column = limitsColumn(sendLimits)
        return log.recorded(audit, projectOf(sql.updateProject.get(column, id)))
      }),
    getProject: (id) => committer.read(() => projectOf(sql.project.get(id))),
    listProjects: (page) => committer.read(() => pageOfProjects(page)),
    createKey: (key, digest, limit, audit) =>
      committer.write(() => log.recorded(audit, createKey(key, digest, limit))),
    findByDigest: (digest) => committer.read(() => cache.get(digest, () => findByDigest(digest))),
    listKeys: (projectId, page) => committer.read(() => pageOfKeys(projectId, page)),
    revokeKey: (projectId, id, now, audit) =>
      committer.write(() => log.recorded(audit, revokeKey(projectId, id, now))),
    endSignIn: ({ id, until }, now) =>
      committer.write(() => {
        sql.forgetSignIns.run(ENDED_SIGN_IN, AFTER_ENDED_SIGN_INS, toIso(now))
        sql.endSignIn.run(ENDED_SIGN_IN + id, toIso(until))
      }),
    isSignInEnded: (id) => committer.read(() => sql.setting.get(ENDED_SIGN_IN + id) !== undefined),
    readSetting: (name) => committer.read(() => sql.setting.get(name)),
    replaceSetting: (name, from, to) => committer.write(() => replaceSetting(sql, name, from, to)),
  }
}

function replaceSetting(
  sql: ReturnType<typeof prepare>,
  name: string,
  from: string | undefined,
  to: string,
): boolean {
  const replaced =
    from === undefined ? sql.insertSetting.run(name, to) : sql.replaceSetting.run(to, name, from)
  return replaced.changes === 1
}

const prepare = (db: Database) => ({
  insertProject: db.prepare<[ProjectRow]>(
    'insert into projects (id, name, created_at, send_limits) values (@id, @name, @createdAt, @sendLimits) on conflict do nothing',
  ),
  updateProject: db.prepare<[string | null, string], ProjectRow>(
    'update projects set send_limits = ? where id = ? returning id, name, created_at as createdAt, send_limits as sendLimits',
  ),
  project: db.prepare<[string], ProjectRow>(`${selectProject} where id = ?`),
  projects: db.prepare<[string | null, number], ProjectRow>(
    `${selectProject} where seq > coalesce((select seq from projects where id <= ? order by id desc limit 1), 0) order by seq ${atMost('?')}`,
  ),
  insertKey: db.prepare<[ApiKeyRow & { digest: string }]>(
    `insert into api_keys ${insertList([...API_KEY_COLUMNS, 'digest'])}`,
  ),
  keyById: db.prepare<[string], ApiKeyRow>(`${selectKey} where id = ?`),
  keyByDigest: db.prepare<[string], ApiKeyRow>(`${selectKey} where digest = ?`),
  countGood: db
    .prepare<[string, Instant], number>(
      'select count(*) from api_keys where project_id = ? and revoked_at is null and (expires_at is null or expires_at > ?)',
    )
    .pluck(),
  keys: db.prepare<[string, number, number], ApiKeyRow>(
    `${selectKey} where project_id = ? and seq < ? order by seq desc ${atMost('?')}`,
  ),
  revoke: db.prepare<[number, string]>('update api_keys set revoked_at = ? where id = ?'),
  endSignIn: db.prepare<[string, string]>(
    'insert into settings (name, value) values (?, ?) on conflict (name) do update set value = excluded.value',
  ),
  forgetSignIns: db.prepare<[string, string, string]>(
    'delete from settings where name > ? and name < ? and value <= ?',
  ),
  setting: db.prepare<[string], string>('select value from settings where name = ?').pluck(),
  insertSetting: db.prepare<[string, string]>(
    'insert into settings (name, value) values (?, ?) on conflict do nothing',
  ),
  replaceSetting: db.prepare<[string, string, string]>(
    'update settings set value = ? where name = ? and value = ?',
  ),
})
