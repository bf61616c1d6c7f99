import type { ApiKey, Instant } from '@org/agent-messaging-core'
import {
  API_KEY_COLUMNS,
  apiKeyColumns,
  ENDED_SIGN_IN,
  insertList,
  limitsColumn,
  NO_PROJECT,
  NO_ROW,
  selectList,
  toApiKey,
  toIso,
  toPage,
  toProject,
  type ApiKeyRow,
  type CredentialStore,
  type ProjectRow,
} from '@org/agent-messaging-core/storage'
import { record } from './audit.js'
import { atMost, type Dialect } from './dialect.js'
import { all, one, run, sql, type Operation, type Runner } from './operation.js'
import { pagesOf, countIn, lockProject, type OfProject } from './pages.js'

type Id = { readonly id: string }
type Digest = { readonly digest: string }
type Setting = { readonly name: string; readonly value: string }
type Limits = Pick<ProjectRow, 'id' | 'sendLimits'>

const projectList =
  'id, name, external_id as "externalId", created_at as "createdAt", send_limits as "sendLimits"'
const insertProject = sql<ProjectRow>(
  ({ schema }) => `
    insert into ${schema}projects (id, name, external_id, created_at, send_limits)
    values (@id, @name, @externalId, @createdAt, @sendLimits) on conflict do nothing`,
)
const updateProject = sql<Limits, ProjectRow>(
  ({ schema }) => `
    update ${schema}projects set send_limits = @sendLimits where id = @id returning ${projectList}`,
)
const project = sql<Id, ProjectRow>(
  ({ schema }) => `select ${projectList} from ${schema}projects where id = @id`,
)
const projectByExternalId = sql<Pick<ProjectRow, 'externalId'>, ProjectRow>(
  ({ schema }) => `select ${projectList} from ${schema}projects where external_id = @externalId`,
)
const lockProjectRow = sql<Id, ProjectRow>((d) => `${project(d)} ${d.lock('no key update')}`)
const projects = sql<{ readonly cursor: string | null; readonly rows: number }, ProjectRow>(
  ({ schema }) => `
    select ${projectList} from ${schema}projects
    where seq > coalesce(
      (select seq from ${schema}projects where id <= @cursor order by id desc limit 1), 0)
    order by seq ${atMost('@rows')}`,
)

const keys = (d: Dialect): string =>
  `select ${selectList(API_KEY_COLUMNS)} from ${d.schema}api_keys`
const keyById = sql<Id, ApiKeyRow>((d) => `${keys(d)} where id = @id`)
const keyByDigest = sql<Digest, ApiKeyRow>((d) => `${keys(d)} where digest = @digest`)
const insertKey = sql<ApiKeyRow & Digest>(
  ({ schema }) => `insert into ${schema}api_keys ${insertList([...API_KEY_COLUMNS, 'digest'])}`,
)
const countValid = countIn<OfProject & { readonly createdAt: Instant }>(
  'api_keys',
  () => 'revoked_at is null and (expires_at is null or expires_at > @createdAt)',
)
const revoke = sql<Id & OfProject & { readonly now: Instant }>(
  ({ schema }) => `
    update ${schema}api_keys set revoked_at = @now
    where id = @id and project_id = @projectId and revoked_at is null`,
)

const setting = sql<Pick<Setting, 'name'>, Setting>(
  ({ schema }) => `select value from ${schema}settings where name = @name`,
)
const insertSetting = sql<Setting>(
  ({ schema }) =>
    `insert into ${schema}settings (name, value) values (@name, @value) on conflict do nothing`,
)
const replaceSetting = sql<Setting & { readonly from: string }>(
  ({ schema }) =>
    `update ${schema}settings set value = @value where name = @name and value = @from`,
)
const putSetting = sql<Setting>(
  ({ schema }) => `
    insert into ${schema}settings (name, value) values (@name, @value)
    on conflict (name) do update set value = excluded.value`,
)
const deleteSignIns = sql<{ readonly now: string }>(
  ({ schema, startsWith }) =>
    `delete from ${schema}settings where ${startsWith('name', ENDED_SIGN_IN)} and value <= @now`,
)

export function* findKey(digest: string): Operation<ApiKey | undefined> {
  const row = yield* one(keyByDigest, { digest })
  return row && toApiKey(row)
}

/** The adapters read the key of each request in their own way. */
export const credentialStore = ({
  read,
  write,
}: Runner): Omit<CredentialStore, 'findByDigest'> => ({
  createProject: write(function* (row, audit) {
    const { externalId = null } = row
    yield* run(insertProject, { ...row, externalId, sendLimits: limitsColumn(row.sendLimits) })
    const there = externalId !== null && (yield* one(projectByExternalId, { externalId }))
    if (there && there.id !== row.id)
      return { kind: 'external_id_taken' as const, project: toProject(there) }
    yield* record(audit, { name: row.name })
    return 'created' as const
  }),
  updateProject: write(function* (id, { sendLimits }, audit) {
    const before = yield* one(lockProjectRow, { id })
    const row = yield* one(updateProject, { id, sendLimits: limitsColumn(sendLimits) })
    if (!before || !row) return undefined
    yield* record(audit, toProject(row), toProject(before))
    return toProject(row)
  }),
  findProject: read(function* (externalId) {
    const row = yield* one(projectByExternalId, { externalId })
    return row && toProject(row)
  }),
  getProject: read(function* (id) {
    const row = yield* one(project, { id })
    return row && toProject(row)
  }),
  listProjects: read(function* ({ limit, cursor = null }) {
    return toPage(yield* all(projects, { cursor, rows: limit + 1 }), limit, toProject)
  }),
  createKey: write(function* (key, digest, limit, audit) {
    if (yield* one(keyById, key)) return 'created'
    if (key.projectId !== NO_PROJECT && (yield* run(lockProject, key)) === 0)
      return 'project_not_found'
    if (yield* one(keyByDigest, { digest })) return 'digest_taken'
    if ((yield* countValid(key)) >= limit) return 'limit_reached'
    yield* run(insertKey, { ...apiKeyColumns(key), digest })
    yield* record(audit, key, NO_ROW)
    return 'created'
  }),
  listKeys: read(pagesOf('api_keys', (d) => `${keys(d)} where project_id = @projectId`, toApiKey)),
  revokeKey: write(function* (projectId, id, now, audit) {
    const isRevoked = (yield* run(revoke, { projectId, id, now })) === 1
    const key = yield* one(keyById, { id })
    if (key && isRevoked) {
      yield* record(audit, toApiKey(key))
      return 'revoked'
    }
    return key?.projectId === projectId ? 'already_revoked' : undefined
  }),
  endSignIn: write(function* ({ id, until }, now) {
    yield* run(deleteSignIns, { now: toIso(now) })
    yield* run(putSetting, { name: ENDED_SIGN_IN + id, value: toIso(until) })
  }),
  readSetting: read(function* (name) {
    return (yield* one(setting, { name }))?.value
  }),
  replaceSetting: write(function* (name, from, value) {
    const replaced =
      from === undefined
        ? run(insertSetting, { name, value })
        : run(replaceSetting, { name, from, value })
    return (yield* replaced) === 1
  }),
})
