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
import { recorded } from './recorded.js'
import type { Database, Queries } from './database.js'
import { pageStart } from './page.js'
import { sql } from './sql.js'

type Id = { readonly id: string }
type Setting = { readonly name: string }

const projectList = 'id, name, created_at as "createdAt", send_limits as "sendLimits"'
const selectProject = `select ${projectList} from agent_messaging.projects`
const keyList = selectList(API_KEY_COLUMNS)
const selectKey = `select ${keyList} from agent_messaging.api_keys`

const insertProjectSql = sql<ProjectRow>(`
  insert into agent_messaging.projects (id, name, created_at, send_limits)
  values (@id, @name, @createdAt, @sendLimits)
  on conflict do nothing`)
const updateProjectSql = sql<Id & { readonly sendLimits: string | null }, ProjectRow>(`
  update agent_messaging.projects set send_limits = @sendLimits where id = @id
  returning ${projectList}`)
const projectSql = sql<Id, ProjectRow>(`${selectProject} where id = @id`)
const projectsSql = sql<{ readonly cursor: string | null; readonly rows: number }, ProjectRow>(`
  ${selectProject}
  where seq > coalesce(
    (select seq from agent_messaging.projects where id <= @cursor order by id desc limit 1), 0)
  order by seq limit @rows`)
const insertKeySql = sql<ApiKeyRow & { readonly digest: string }>(
  `insert into agent_messaging.api_keys ${insertList([...API_KEY_COLUMNS, 'digest'])}`,
)
const keyByIdSql = sql<Id, ApiKeyRow>(`${selectKey} where id = @id`)
const keyByDigestSql = sql<{ readonly digest: string }, ApiKeyRow>(
  `${selectKey} where digest = @digest`,
)
const keysByDigestsSql = sql<
  { readonly digests: readonly string[] },
  ApiKeyRow & { readonly digest: string }
>(`select digest, ${keyList} from agent_messaging.api_keys where digest = any(@digests::text[])`)
const newestSql = sql<
  { readonly projectId: string; readonly before: number; readonly rows: number },
  ApiKeyRow
>(`${selectKey} where project_id = @projectId and seq < @before order by seq desc limit @rows`)
const lockProjectSql = sql<{ readonly projectId: string }>(
  'select 1 from agent_messaging.projects where id = @projectId for no key update',
)
const countValidSql = sql<
  { readonly projectId: string; readonly createdAt: Instant },
  { readonly count: number }
>(`
  select count(*) as count from agent_messaging.api_keys
  where project_id = @projectId and revoked_at is null
    and (expires_at is null or expires_at > @createdAt)`)
type Revocation = Id & { readonly projectId: string; readonly now: number }

const revokeSql = sql<Revocation>(`
  update agent_messaging.api_keys set revoked_at = @now
  where id = @id and project_id = @projectId and revoked_at is null`)
const settingSql = sql<Setting, { readonly value: string }>(
  'select value from agent_messaging.settings where name = @name',
)
const insertSettingSql = sql<Setting & { readonly to: string }>(`
  insert into agent_messaging.settings (name, value) values (@name, @to) on conflict do nothing`)
const replaceSettingSql = sql<Setting & { readonly from: string; readonly to: string }>(
  'update agent_messaging.settings set value = @to where name = @name and value = @from',
)
const endSignInSql = sql<Setting & { readonly value: string }>(`
  insert into agent_messaging.settings (name, value) values (@name, @value)
  on conflict (name) do update set value = excluded.value`)
const deleteSignInsSql = sql<{ readonly names: string; readonly now: string }>(
  'delete from agent_messaging.settings where name like @names and value <= @now',
)

const start = pageStart('api_keys')

const projectOf = (row: ProjectRow | undefined): Project | undefined => row && toProject(row)

export function credentialStore({ read, write, gathered }: Database): CredentialStore {
  return {
    createProject: (row, audit) => write((db) => recorded(db, audit, createProject(db, row))),
    updateProject: (id, { sendLimits }, audit) =>
      write((db) => {
        const change = { id, sendLimits: limitsColumn(sendLimits) }
        return recorded(db, audit, db.one(updateProjectSql, change).then(projectOf))
      }),
    getProject: (id) => read(async (db) => projectOf(await db.one(projectSql, { id }))),
    listProjects: (page) => read((db) => pageOfProjects(db, page)),
    createKey: (key, digest, limit, audit) =>
      write((db) => recorded(db, audit, createKey(db, key, digest, limit))),
    findByDigest: gathered(findKeys),
    listKeys: (projectId, page) => read((db) => pageOfKeys(db, projectId, page)),
    revokeKey: (projectId, id, now, audit) =>
      write((db) => recorded(db, audit, revokeKey(db, { projectId, id, now }))),
    endSignIn: ({ id, until }, now) =>
      write(async (db) => {
        await db.run(deleteSignInsSql, { names: `${ENDED_SIGN_IN}%`, now: toIso(now) })
        await db.run(endSignInSql, { name: ENDED_SIGN_IN + id, value: toIso(until) })
      }),
    isSignInEnded: (id) =>
      read(async (db) => (await db.one(settingSql, { name: ENDED_SIGN_IN + id })) !== undefined),
    readSetting: (name) => read(async (db) => (await db.one(settingSql, { name }))?.value),
    replaceSetting: (name, from, to) =>
      write(async (db) => {
        const replaced =
          from === undefined
            ? db.run(insertSettingSql, { name, to })
            : db.run(replaceSettingSql, { name, from, to })
        return (await replaced) === 1
      }),
  }
}

async function createProject(db: Queries, project: Project): Promise<'created'> {
  await db.run(insertProjectSql, { ...project, sendLimits: limitsColumn(project.sendLimits) })
  return 'created'
}

async function revokeKey(
  db: Queries,
  revocation: Revocation,
): Promise<'revoked' | 'already_revoked' | undefined> {
  if ((await db.run(revokeSql, revocation)) === 1) return 'revoked'
  const key = await db.one(keyByIdSql, revocation)
  return key?.projectId === revocation.projectId ? 'already_revoked' : undefined
}

/** Finds the keys of many requests at once. Most requests use the same key. */
async function findKeys(db: Queries, digests: readonly string[]): Promise<(ApiKey | undefined)[]> {
  const rows = await db.all(keysByDigestsSql, { digests: [...new Set(digests)] })
  const keys = new Map(rows.map(({ digest, ...row }) => [digest, toApiKey(row)]))
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
  if (((await db.one(countValidSql, key))?.count ?? 0) >= limit) return 'limit_reached'
  await db.run(insertKeySql, { ...apiKeyColumns(key), digest })
  return 'created'
}

async function pageOfProjects(
  db: Queries,
  { limit, cursor = null }: { limit: number; cursor?: string | null },
): Promise<Page<Project>> {
  return toPage(await db.all(projectsSql, { cursor, rows: limit + 1 }), limit, toProject)
}

async function pageOfKeys(db: Queries, projectId: string, page: PageOf): Promise<Page<ApiKey>> {
  const rows = await db.all(newestSql, {
    projectId,
    before: await start(db, page),
    rows: page.limit + 1,
  })
  return toPage(rows, page.limit, toApiKey)
}
