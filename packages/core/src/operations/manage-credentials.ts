import { errAsync, ok, okAsync, safeTry, type ResultAsync } from 'neverthrow'
import {
  apiKeySettings,
  auditedProject,
  isBootstrapKey,
  isMistyped,
  newApiKey,
  NO_PROJECT,
  platformKeySettings,
  type ApiKey,
  type ApiKeySettings,
  type PlatformKey,
  type PlatformKeySettings,
} from '../domain/access/api-key.js'
import { auditEntry, type ByActor } from '../domain/access/audit.js'
import { ROLES } from '../domain/access/permission.js'
import {
  eventLimitSettings,
  sendLimitSettings,
  type SendLimits,
} from '../domain/access/send-limit.js'
import { fail } from '../domain/values/fail.js'
import { projectSettings, type ProjectSettings } from '../domain/access/project.js'
import { newRulesOf } from '../domain/values/setting.js'
import { ofPage, type ListInput, type PageInput } from '../domain/values/page-rules.js'
import { ENDED_SIGN_IN, type Project, type SignIn } from '../ports/credential-store.js'
import type { Unavailable } from '../ports/stored.js'
import type { Changing, Platform, Reading } from '../platform.js'
import { broken, required, type Invalid } from '../domain/values/input-rules.js'
import { chain, existing } from '../pacing/chain.js'
import { findProject } from '../webhooks/require-project.js'

const ROLE_OR_PERMISSIONS = 'is required, unless role is given'
const NOT_BOTH = 'must be absent if permissions is given'
const OWN_KEY_RULE =
  'must be 20 to 255 printable ASCII characters without space and comma, and if it begins with amk_, one of ours'

export type CreateProjectInput = ProjectSettings & ByActor
/** `isReplay`: the project with this external id was there before. It is unchanged. */
export type CreatedProject = Project & { readonly isReplay?: true }

export const createProject =
  (d: Changing) =>
  ({
    name,
    externalId,
    actor,
  }: CreateProjectInput): ResultAsync<CreatedProject, CreateProjectError> => {
    const problem = broken(newRulesOf(projectSettings, { name, externalId }))
    if (problem) return errAsync(problem.error)
    const project: Project = {
      ...{ id: d.ids.next(), name, createdAt: d.clock.now() },
      ...(externalId !== undefined && { externalId }),
    }
    const { id } = project
    const audit = auditEntry(d, { projectId: id, action: 'project.created', targetId: id, actor })
    return chain(d.storage.credentials.createProject(project, audit)).map((created) =>
      created === 'created' ? project : { ...created.project, isReplay: true as const },
    )
  }
type CreateProjectError = Invalid | Unavailable

export const getProject =
  (d: Reading) =>
  ({ projectId }: { readonly projectId: string }) =>
    existing(findProject(d, projectId), 'project_not_found')

export type UpdateProjectInput = ByActor & {
  readonly projectId: string
  /** `null` removes the limits. */
  readonly sendLimits: SendLimits | null
}

export const updateProject =
  (d: Changing) =>
  ({ projectId, actor, ...change }: UpdateProjectInput) => {
    const sendLimits = change.sendLimits ?? {}
    const { project, key, events } = sendLimits
    const problem = broken({
      ...(project && newRulesOf(sendLimitSettings, project, 'sendLimits.project.')),
      ...(key && newRulesOf(sendLimitSettings, key, 'sendLimits.key.')),
      ...(events && newRulesOf(eventLimitSettings, events, 'sendLimits.events.')),
    })
    if (problem) return errAsync(problem.error)
    const audit = auditEntry(d, {
      projectId,
      action: 'project.updated',
      targetId: projectId,
      fields: ['sendLimits'],
      actor,
    })
    return existing(
      d.storage.credentials.updateProject(projectId, { sendLimits }, audit),
      'project_not_found',
    )
  }

export const listProjects = (d: Reading) => (page: PageInput) =>
  ofPage(page, (checked) => chain(d.storage.credentials.listProjects(checked)))

export type CreateKeyInput = ApiKeySettings &
  ByActor & {
    readonly projectId: string
    /**
     * An operator's key text, 20 or more printable characters, for tests and containers. Created if
     * absent.
     */
    readonly key?: string | undefined
  }
/** The result contains the key. It is shown only once. */
export type CreatedKey = { readonly apiKey: ApiKey; readonly key: string }
export type CreateKeyError =
  | Invalid
  | Unavailable
  | { readonly kind: 'project_not_found' | 'key_taken' | 'too_many_keys' }

export const createKey = (d: Creating) => (input: CreateKeyInput) => {
  const { role, permissions = [] } = input
  const problem = broken({ ...keyRules(input), ...timeRules(d, input) })
  return problem
    ? errAsync(problem.error)
    : storeKey(d, { ...input, permissions: role ? ROLES[role] : permissions })
}

type Creating = Changing & Pick<Platform, 'crypto' | 'policy'>
type NewKey = Omit<CreateKeyInput, 'role' | 'permissions'> & Pick<PlatformKey, 'permissions'>

const storeKey = (d: Creating, input: NewKey) =>
  safeTry(async function* () {
    const { projectId, name, permissions, expiresAt, actor } = input
    const key = input.key ?? newApiKey(d.crypto.randomBytes)
    const apiKey = {
      ...{
        id: d.ids.next(),
        projectId,
        name,
        permissions: [...new Set(permissions)],
        createdAt: d.clock.now(),
      },
      ...(expiresAt !== undefined && { expiresAt }),
    } as ApiKey
    const created = yield* chain(
      d.storage.credentials.createKey(
        apiKey,
        d.crypto.sha256(key),
        d.policy.limits.keysPerProject,
        auditEntry(d, {
          projectId: auditedProject(projectId),
          action: 'key.created',
          targetId: apiKey.id,
          actor,
        }),
      ),
    )
    if (created === 'limit_reached') return fail('too_many_keys')
    if (created === 'project_not_found') return fail('project_not_found')
    return created === 'digest_taken' ? fail('key_taken') : ok({ apiKey, key })
  })

export const listKeys =
  (d: Reading) =>
  ({ projectId, ...page }: ListInput) =>
    ofPage(page, (checked) => chain(d.storage.credentials.listKeys(projectId, checked)))

export type KeyRef = {
  readonly projectId: string
  /** The id of the key. The key itself is no id. */
  readonly keyId: string
}

export const revokeKey =
  (d: Changing) =>
  ({ projectId, keyId, actor }: KeyRef & ByActor) =>
    chain(
      d.storage.credentials.revokeKey(
        projectId,
        keyId,
        d.clock.now(),
        auditEntry(d, {
          projectId: auditedProject(projectId),
          action: 'key.revoked',
          targetId: keyId,
          actor,
        }),
      ),
    ).andThen((done) => (done ? ok(undefined) : fail('key_not_found')))

export const endSignIn = (d: Pick<Platform, 'clock' | 'storage'>) => (signIn: SignIn) =>
  chain(d.storage.credentials.endSignIn(signIn, d.clock.now()))

export const isSignInOver =
  (d: Pick<Platform, 'clock' | 'storage'>) =>
  ({ id, until }: SignIn) =>
    until <= d.clock.now()
      ? okAsync(true)
      : chain(d.storage.credentials.readSetting(ENDED_SIGN_IN + id)).map((end) => end !== undefined)

export type CreatePlatformKeyInput = PlatformKeySettings & ByActor
export type CreatedPlatformKey = { readonly platformKey: PlatformKey; readonly key: string }

export const createPlatformKey = (d: Creating) => (input: CreatePlatformKeyInput) => {
  const problem = broken({
    ...newRulesOf(platformKeySettings, input),
    ...timeRules(d, input),
  })
  if (problem) return errAsync(problem.error)
  // Another field, such as a key text, is not checked here.
  const { name, permissions, expiresAt, actor } = input
  const key = { name, permissions, expiresAt, actor, projectId: NO_PROJECT }
  return storeKey(d, key).map(({ apiKey, key }) => ({
    platformKey: platformKeyOf(apiKey),
    key,
  }))
}

export const listPlatformKeys = (d: Reading) => (page: PageInput) =>
  listKeys(d)({ projectId: NO_PROJECT, ...page }).map((found) => ({
    ...found,
    data: found.data.map(platformKeyOf),
  }))

export const revokePlatformKey = (d: Changing) => (input: Omit<KeyRef, 'projectId'> & ByActor) =>
  revokeKey(d)({ ...input, projectId: NO_PROJECT })

const platformKeyOf = ({ projectId: _, ...key }: ApiKey): PlatformKey => key

const timeRules = (
  { clock }: Pick<Platform, 'clock'>,
  { expiresAt }: Pick<ApiKeySettings, 'expiresAt'>,
) => ({
  expiresAt:
    expiresAt === undefined || expiresAt > clock.now() ? undefined : 'must be in the future',
})

function keyRules(input: CreateKeyInput) {
  const { role, permissions, key } = input
  return {
    ...required({ projectId: input.projectId }),
    ...newRulesOf(apiKeySettings, input),
    ...(role === undefined && permissions === undefined && { permissions: ROLE_OR_PERMISSIONS }),
    ...(role !== undefined && permissions !== undefined && { role: NOT_BOTH }),
    key: key === undefined || (isBootstrapKey(key) && !isMistyped(key)) ? undefined : OWN_KEY_RULE,
  }
}
