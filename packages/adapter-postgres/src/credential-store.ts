import {
  toIso,
  type ApiKey,
  type CredentialStore,
  type Instant,
  type Page,
  type PageOf,
  type Project,
} from '@org/agent-messaging-core/storage'
import type { Database, Queries } from './database.js'
import { pageStart, toPage } from './page.js'
import { sql } from './sql.js'

type KeyRow = Omit<ApiKey, 'permissions' | 'expiresAt' | 'revokedAt'> & {
  readonly permissions: string
  readonly expiresAt: number | null
  readonly revokedAt: number | null
}
type Id = { readonly id: string }
type Setting = { readonly name: string }

/** Sign-ins that were ended are few, and soon forgotten: they are settings, by their id, with the time when they may be forgotten. */
const ENDED_SIGN_IN = 'ended-sign-in/'

const selectProject = 'select id, name, created_at as "createdAt" from agent_messaging.projects'
const selectKey = `
  select id, project_id as "projectId", name, permissions, created_at as "createdAt", expires_at as "expiresAt", revoked_at as "revokedAt"
  from agent_messaging.api_keys`

const insertProjectSql = sql<Project>(
  'insert into agent_messaging.projects (id, name, created_at) values (@id, @name, @createdAt) on conflict do nothing',
)
const projectSql = sql<Id, Project>(`${selectProject} where id = @id`)
const projectsSql = sql<{ readonly cursor: string | null; readonly rows: number }, Project>(`
  ${selectProject}
  where seq > coalesce((select seq from agent_messaging.projects where id <= @cursor order by id desc limit 1), 0) order by seq limit @rows`)
const insertKeySql = sql<KeyRow & { readonly digest: string }>(`
  insert into agent_messaging.api_keys (id, project_id, digest, name, permissions, created_at, expires_at, revoked_at)
  values (@id, @projectId, @digest, @name, @permissions, @createdAt, @expiresAt, @revokedAt)`)
const keyByIdSql = sql<Id, KeyRow>(`${selectKey} where id = @id`)
const keyByDigestSql = sql<{ readonly digest: string }, KeyRow>(
  `${selectKey} where digest = @digest`,
)
const keysByDigestsSql = sql<
  { readonly digests: readonly string[] },
  KeyRow & { readonly digest: string }
>(`${selectKey.replace('select', 'select digest,')} where digest = any(@digests::text[])`)
const newestSql = sql<
  { readonly projectId: string; readonly before: number; readonly rows: number },
  KeyRow
>(`${selectKey} where project_id = @projectId and seq < @before order by seq desc limit @rows`)
const lockProjectSql = sql<{ readonly projectId: string }>(
  'select 1 from agent_messaging.projects where id = @projectId for no key update',
)
const countGoodSql = sql<
  { readonly projectId: string; readonly createdAt: Instant },
  { readonly count: number }
>(`
  select count(*) as count from agent_messaging.api_keys
  where project_id = @projectId and revoked_at is null and (expires_at is null or expires_at > @createdAt)`)
const revokeSql = sql<Id & { readonly projectId: string; readonly now: number }>(
  'update agent_messaging.api_keys set revoked_at = coalesce(revoked_at, @now) where id = @id and project_id = @projectId',
)
const settingSql = sql<Setting, { readonly value: string }>(
  'select value from agent_messaging.settings where name = @name',
)
const initSettingSql = sql<Setting & { readonly value: string }>(
  'insert into agent_messaging.settings (name, value) values (@name, @value) on conflict do nothing',
)

const replaceSettingSql = sql<Setting & { readonly from: string; readonly to: string }>(
  'update agent_messaging.settings set value = @to where name = @name and value = @from',
)

const endSignInSql = sql<Setting & { readonly value: string }>(`
  insert into agent_messaging.settings (name, value) values (@name, @value) on conflict (name) do update set value = excluded.value`)
const forgetSignInsSql = sql<{ readonly names: string; readonly now: string }>(
  'delete from agent_messaging.settings where name like @names and value <= @now',
)

const start = pageStart('api_keys')

export function credentialStore({ read, write, gathered }: Database): CredentialStore {
  return {
    createProject: (row) => write(async (db) => void (await db.run(insertProjectSql, row))),
    getProject: (id) => read((db) => db.one(projectSql, { id })),
    listProjects: (page) => read((db) => pageOfProjects(db, page)),
    createKey: (key, digest, limit) => write((db) => createKey(db, key, digest, limit)),
    findByDigest: gathered(findKeys),
    listKeys: (projectId, page) => read((db) => pageOfKeys(db, projectId, page)),
    revokeKey: (projectId, id, now) =>
      write(async (db) => (await db.run(revokeSql, { projectId, id, now })) === 1),
    endSignIn: ({ id, until }, now) =>
      write(async (db) => {
        await db.run(forgetSignInsSql, { names: `${ENDED_SIGN_IN}%`, now: toIso(now) })
        await db.run(endSignInSql, { name: ENDED_SIGN_IN + id, value: toIso(until) })
      }),
    isSignInEnded: (id) =>
      read(async (db) => (await db.one(settingSql, { name: ENDED_SIGN_IN + id })) !== undefined),
    readSetting: (name) => read(async (db) => (await db.one(settingSql, { name }))?.value),
    initSetting: (name, value) =>
      write(async (db) => {
        await db.run(initSettingSql, { name, value })
        return (await db.one(settingSql, { name }))?.value ?? value
      }),
    replaceSetting: (name, from, to) =>
      write(async (db) => (await db.run(replaceSettingSql, { name, from, to })) === 1),
  }
}

/** Of many requests at once, most with one and the same key. */
async function findKeys(db: Queries, digests: readonly string[]): Promise<(ApiKey | undefined)[]> {
  const rows = await db.all(keysByDigestsSql, { digests: [...new Set(digests)] })
  const keys = new Map(rows.map(({ digest, ...row }) => [digest, toKey(row)]))
  return digests.map((digest) => keys.get(digest))
}

type Created = 'created' | 'digest_taken' | 'project_not_found' | 'limit_reached'

async function createKey(
  db: Queries,
  key: ApiKey,
  digest: string,
  limit: number,
): Promise<Created> {
  if (await db.one(keyByIdSql, key)) return 'created'
  if ((await db.run(lockProjectSql, key)) === 0) return 'project_not_found'
  if (await db.one(keyByDigestSql, { digest })) return 'digest_taken'
  if (((await db.one(countGoodSql, key))?.count ?? 0) >= limit) return 'limit_reached'
  const { permissions, expiresAt = null, revokedAt = null } = key
  await db.run(insertKeySql, {
    ...key,
    digest,
    permissions: JSON.stringify(permissions),
    expiresAt,
    revokedAt,
  })
  return 'created'
}

async function pageOfProjects(
  db: Queries,
  { limit, cursor = null }: { limit: number; cursor?: string | null },
): Promise<Page<Project>> {
  return toPage(await db.all(projectsSql, { cursor, rows: limit + 1 }), limit, (row) => row)
}

async function pageOfKeys(db: Queries, projectId: string, page: PageOf): Promise<Page<ApiKey>> {
  const rows = await db.all(newestSql, {
    projectId,
    before: await start(db, page),
    rows: page.limit + 1,
  })
  return toPage(rows, page.limit, toKey)
}

const toKey = ({ permissions, expiresAt, revokedAt, ...row }: KeyRow): ApiKey => ({
  ...row,
  permissions: JSON.parse(permissions) as ApiKey['permissions'],
  ...(expiresAt !== null && { expiresAt }),
  ...(revokedAt !== null && { revokedAt }),
})
