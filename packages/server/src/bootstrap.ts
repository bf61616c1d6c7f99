import { PERMISSIONS, type MessagingService, type Project } from '@org/agent-messaging-core'
import { type Storage } from '@org/agent-messaging-core/storage'
import { type Clock, type Crypto, type Ids } from '@org/agent-messaging-core/runtime'
import { err, ok } from 'neverthrow'
import { allPages } from './lookup.js'
import { OperatorError, orFail } from './operator-error.js'

const CANARY = 'master-key-canary'
const DEFAULT_PROJECT_SETTING = 'default-project'
export const DEFAULT_PROJECT = 'default'

/** Throws unless this master key belongs to the database. Another key could decrypt nothing. */
export async function checkMasterKey(storage: Storage, crypto: Crypto): Promise<void> {
  const stored = await orFail(
    storage.credentials.initSetting(CANARY, canaryOf(crypto)),
    'cannot use the database',
  )
  if (!crypto.isMac(CANARY, 'v1', stored))
    throw new OperatorError(
      'SERVICE_MASTER_KEY does not match this database; set it to the key that encrypted the database',
      2,
    )
}

/** Makes the present master key the only one that opens the database. */
export async function adoptMasterKey({ credentials }: Storage, crypto: Crypto): Promise<void> {
  const stored = await orFail(credentials.readSetting(CANARY), 'cannot read the database')
  if (stored !== undefined)
    await orFail(
      credentials.replaceSetting(CANARY, stored, canaryOf(crypto)),
      'cannot write to the database',
    )
}

/**
 * Tells which key belongs to the database: the master key, one of the other keys, or none.
 * Every master key matches an empty database.
 */
export async function matchingKey(
  storage: Storage,
  crypto: Crypto,
): Promise<'master key' | 'other key' | 'none'> {
  const stored = await orFail(storage.credentials.readSetting(CANARY), 'cannot read the database')
  if (stored === undefined || crypto.equal(stored, canaryOf(crypto))) return 'master key'
  return crypto.isMac(CANARY, 'v1', stored) ? 'other key' : 'none'
}

const canaryOf = (crypto: Crypto): string => crypto.mac(CANARY, 'v1')

/** Creates the project `default` once, even if several processes start at the same time. */
export async function ensureDefaultProject({
  storage,
  clock,
  ids,
}: {
  storage: Storage
  clock: Clock
  ids: Ids
}): Promise<Project> {
  const { credentials } = storage
  const failure = 'cannot create the project "default"'
  const existing = (await allPages((page) => credentials.listProjects(page), failure)).find(
    ({ name }) => name === DEFAULT_PROJECT,
  )
  const id = await orFail(
    credentials.initSetting(DEFAULT_PROJECT_SETTING, existing?.id ?? ids.next()),
    failure,
  )
  const created = await orFail(credentials.getProject(id), failure)
  if (created) return created
  const project = { id, name: DEFAULT_PROJECT, createdAt: clock.now() }
  await orFail(credentials.createProject(project), failure)
  return project
}

const KEY_NAME = 'bootstrap'

export type EnsuredKey = {
  /** False if the key was revoked or belongs to another project. */
  readonly isValid: boolean
  /** Ids of bootstrap keys of earlier starts that are still valid. */
  readonly earlier: readonly string[]
}

/** Creates this API key with all permissions, unless it exists. */
export async function ensureKey(
  service: MessagingService,
  projectId: string,
  key: string,
): Promise<EnsuredKey> {
  const created = service.keys
    .create({ projectId, name: KEY_NAME, permissions: PERMISSIONS, key })
    .map(() => undefined)
    .orElse((error) => (error.kind === 'key_taken' ? ok(undefined) : err(error)))
  await orFail(created, 'cannot create the bootstrap API key')
  const found = await service.keys.authenticate(key)
  const own = found.isOk() && found.value.projectId === projectId ? found.value.id : undefined
  const keys = await allPages(
    (page) => service.keys.list(projectId, page),
    'cannot list the API keys',
  )
  const earlier = keys.filter(
    ({ id, name, revokedAt }) => name === KEY_NAME && revokedAt === undefined && id !== own,
  )
  return { isValid: own !== undefined, earlier: earlier.map(({ id }) => id) }
}
