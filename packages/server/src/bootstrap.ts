import { PERMISSIONS, type MessagingService, type Project } from '@org/agent-messaging-core'
import { type Storage } from '@org/agent-messaging-core/storage'
import { type Clock, type Crypto, type Ids } from '@org/agent-messaging-core/runtime'
import { err, ok } from 'neverthrow'
import { allPages } from './all-pages.js'
import { OperatorError, orFail } from './operator-error.js'

const CANARY = 'master-key-canary'
const DEFAULT_PROJECT_SETTING = 'default-project'
export const DEFAULT_PROJECT = 'default'

/** Refuses to go on without the master key that this database is sealed with: nothing could be read. */
export async function checkMasterKey(storage: Storage, crypto: Crypto): Promise<void> {
  const kept = await orFail(
    storage.credentials.initSetting(CANARY, canaryOf(crypto)),
    'the database cannot be used',
  )
  if (!crypto.isMac(CANARY, 'v1', kept))
    throw new OperatorError(
      'SERVICE_MASTER_KEY is not the key that this database is sealed with; it takes that one',
      2,
    )
}

/** Once all is sealed with the present master key: from now on this database opens with that one alone. */
export async function adoptMasterKey({ credentials }: Storage, crypto: Crypto): Promise<void> {
  const kept = await orFail(credentials.readSetting(CANARY), 'the database cannot be read')
  if (kept !== undefined)
    await orFail(
      credentials.replaceSetting(CANARY, kept, canaryOf(crypto)),
      'the database cannot be written',
    )
}

/** Whether the master key is the one that the database is sealed with, or another of the keys is; any is, for one that nothing was begun in. */
export async function fitOfMasterKey(
  storage: Storage,
  crypto: Crypto,
): Promise<'master key' | 'another' | 'none'> {
  const kept = await orFail(storage.credentials.readSetting(CANARY), 'the database cannot be read')
  if (kept === undefined || crypto.equal(kept, canaryOf(crypto))) return 'master key'
  return crypto.isMac(CANARY, 'v1', kept) ? 'another' : 'none'
}

const canaryOf = (crypto: Crypto): string => crypto.mac(CANARY, 'v1')

/** The project `default`, made once however many processes start at the same time. */
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
  const what = 'the project "default" cannot be made'
  const existing = (await allPages((page) => credentials.listProjects(page), what)).find(
    ({ name }) => name === DEFAULT_PROJECT,
  )
  const id = await orFail(
    credentials.initSetting(DEFAULT_PROJECT_SETTING, existing?.id ?? ids.next()),
    what,
  )
  const kept = await orFail(credentials.getProject(id), what)
  if (kept) return kept
  const project = { id, name: DEFAULT_PROJECT, createdAt: clock.now() }
  await orFail(credentials.createProject(project), what)
  return project
}

const KEY_NAME = 'bootstrap'

/** `refused`: the key exists, but is revoked or another project's. `earlier`: ids of keys of other starts that are good as well. */
export type EnsuredKey = { readonly state: 'good' | 'refused'; readonly earlier: readonly string[] }

/** Gives the project this key, with all permissions, unless it exists. */
export async function ensureKey(
  service: MessagingService,
  projectId: string,
  key: string,
): Promise<EnsuredKey> {
  const created = service.keys
    .create({ projectId, name: KEY_NAME, permissions: PERMISSIONS, key })
    .map(() => undefined)
    .orElse((error) => (error.kind === 'key_taken' ? ok(undefined) : err(error)))
  await orFail(created, 'the API key of the start cannot be made')
  const found = await service.keys.authenticate(key)
  const own = found.isOk() && found.value.projectId === projectId ? found.value.id : undefined
  const keys = await allPages(
    (page) => service.keys.list(projectId, page),
    'the API keys cannot be read',
  )
  const earlier = keys.filter(
    ({ id, name, revokedAt }) => name === KEY_NAME && revokedAt === undefined && id !== own,
  )
  return { state: own === undefined ? 'refused' : 'good', earlier: earlier.map(({ id }) => id) }
}
