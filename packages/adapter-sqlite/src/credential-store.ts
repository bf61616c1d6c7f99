import type { Database } from 'better-sqlite3'
import {
  toIso,
  type ApiKey,
  type CredentialStore,
  type Instant,
  type Page,
  type PageOf,
  type Project,
} from '@org/agent-messaging-core/storage'
import type { Committer } from './committer.js'
import { pageStart, toPage } from './page.js'
import { atMost } from './statements.js'
import { versionedCache } from './versioned-cache.js'

type KeyRow = Omit<ApiKey, 'permissions' | 'expiresAt' | 'revokedAt'> & {
  readonly permissions: string
  readonly expiresAt: number | null
  readonly revokedAt: number | null
}

/** Sign-ins that were ended are few, and soon forgotten: they are settings, by their id, with the time when they may be forgotten. */
const ENDED_SIGN_IN = 'ended-sign-in/'
/** No name that begins with it comes after this. */
const AFTER_ENDED_SIGN_INS = 'ended-sign-in0'

const selectProject = 'select id, name, created_at as createdAt from projects'
const selectKey = `
  select id, project_id as projectId, name, permissions, created_at as createdAt, expires_at as expiresAt, revoked_at as revokedAt
  from api_keys`

export function credentialStore(db: Database, { read, write }: Committer): CredentialStore {
  const insertProject = db.prepare<[Project]>(
    'insert into projects (id, name, created_at) values (@id, @name, @createdAt) on conflict do nothing',
  )
  const project = db.prepare<[string], Project>(`${selectProject} where id = ?`)
  const projects = db.prepare<[string | null, number], Project>(
    `${selectProject} where seq > coalesce((select seq from projects where id <= ? order by id desc limit 1), 0) order by seq ${atMost('?')}`,
  )
  const insertKey = db.prepare<[KeyRow & { digest: string }]>(`
    insert into api_keys (id, project_id, digest, name, permissions, created_at, expires_at, revoked_at)
    values (@id, @projectId, @digest, @name, @permissions, @createdAt, @expiresAt, @revokedAt)`)
  const keyById = db.prepare<[string], KeyRow>(`${selectKey} where id = ?`)
  const keyByDigest = db.prepare<[string], KeyRow>(`${selectKey} where digest = ?`)
  const countGood = db
    .prepare<[string, Instant], number>(
      'select count(*) from api_keys where project_id = ? and revoked_at is null and (expires_at is null or expires_at > ?)',
    )
    .pluck()
  const start = pageStart(db, 'api_keys')
  const keys = db.prepare<[string, number, number], KeyRow>(
    `${selectKey} where project_id = ? and seq < ? order by seq desc ${atMost('?')}`,
  )
  const revoke = db.prepare<[number, string, string]>(
    'update api_keys set revoked_at = coalesce(revoked_at, ?) where id = ? and project_id = ?',
  )
  const cache = versionedCache<string, ApiKey | undefined>(db)
  const endSignIn = db.prepare<[string, string]>(
    'insert into settings (name, value) values (?, ?) on conflict (name) do update set value = excluded.value',
  )
  const forgetSignIns = db.prepare<[string, string, string]>(
    'delete from settings where name > ? and name < ? and value <= ?',
  )
  const setting = db.prepare<[string], string>('select value from settings where name = ?').pluck()
  const initSetting = db.prepare<[string, string]>(
    'insert into settings (name, value) values (?, ?) on conflict do nothing',
  )
  const replaceSetting = db.prepare<[string, string, string]>(
    'update settings set value = ? where name = ? and value = ?',
  )

  function createKey(
    key: ApiKey,
    digest: string,
    limit: number,
  ): 'created' | 'digest_taken' | 'project_not_found' | 'limit_reached' {
    if (keyById.get(key.id)) return 'created'
    if (!project.get(key.projectId)) return 'project_not_found'
    if (keyByDigest.get(digest)) return 'digest_taken'
    if ((countGood.get(key.projectId, key.createdAt) ?? 0) >= limit) return 'limit_reached'
    cache.clear()
    const { permissions, expiresAt = null, revokedAt = null } = key
    insertKey.run({
      ...key,
      digest,
      permissions: JSON.stringify(permissions),
      expiresAt,
      revokedAt,
    })
    return 'created'
  }

  function revokeKey(projectId: string, id: string, now: number): boolean {
    cache.clear()
    return revoke.run(now, id, projectId).changes === 1
  }

  function findByDigest(digest: string): ApiKey | undefined {
    const row = keyByDigest.get(digest)
    return row && toKey(row)
  }

  function pageOfProjects({
    limit,
    cursor = null,
  }: {
    limit: number
    cursor?: string | null
  }): Page<Project> {
    return toPage(projects.all(cursor, limit + 1), limit, (row) => row)
  }

  const pageOfKeys = (projectId: string, page: PageOf): Page<ApiKey> =>
    toPage(keys.all(projectId, start(page), page.limit + 1), page.limit, toKey)

  return {
    createProject: (row) => write(() => void insertProject.run(row)),
    getProject: (id) => read(() => project.get(id)),
    listProjects: (page) => read(() => pageOfProjects(page)),
    createKey: (key, digest, limit) => write(() => createKey(key, digest, limit)),
    findByDigest: (digest) => read(() => cache.get(digest, () => findByDigest(digest))),
    listKeys: (projectId, page) => read(() => pageOfKeys(projectId, page)),
    revokeKey: (projectId, id, now) => write(() => revokeKey(projectId, id, now)),
    endSignIn: ({ id, until }, now) =>
      write(() => {
        forgetSignIns.run(ENDED_SIGN_IN, AFTER_ENDED_SIGN_INS, toIso(now))
        endSignIn.run(ENDED_SIGN_IN + id, toIso(until))
      }),
    isSignInEnded: (id) => read(() => setting.get(ENDED_SIGN_IN + id) !== undefined),
    readSetting: (name) => read(() => setting.get(name)),
    initSetting: (name, value) =>
      write(() => {
        initSetting.run(name, value)
        return setting.get(name) ?? value
      }),
    replaceSetting: (name, from, to) =>
      write(() => replaceSetting.run(to, name, from).changes === 1),
  }
}

const toKey = ({ permissions, expiresAt, revokedAt, ...row }: KeyRow): ApiKey => ({
  ...row,
  permissions: JSON.parse(permissions) as ApiKey['permissions'],
  ...(expiresAt !== null && { expiresAt }),
  ...(revokedAt !== null && { revokedAt }),
})
