import { PERMISSIONS, type MessagingService } from '@org/agent-messaging-core'
import { orUndefined, unless } from '@org/agent-messaging-core/host'
import { allPages } from '@org/agent-messaging-node/wiring'
import { orFail } from './operator-error.js'

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
    .catch(unless('key_taken'))
  await orFail(created, 'cannot create the bootstrap API key')
  const found = await orUndefined(service.host.authenticate({ key }))
  const own = found?.projectId === projectId ? found.id : undefined
  const keys = await allPages(
    (page) => service.keys.list({ projectId, ...page }),
    'cannot list the API keys',
  )
  const earlier = keys.filter(
    ({ id, name, revokedAt }) => name === KEY_NAME && revokedAt === undefined && id !== own,
  )
  return { isValid: own !== undefined, earlier: earlier.map(({ id }) => id) }
}
