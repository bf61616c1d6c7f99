import type { EndpointService, Permission } from '@org/agent-messaging-core'
import type { Context } from 'hono'
import type { Env } from './env.js'
import { refuse } from './errors.js'

const BEARER = /^bearer ([!-+\--~]+)$/i

/**
 * Sets the project of the request's API key. Returns a refusal if the key is invalid or lacks the
 * permission. With `recalls`, a key that was valid before is not read again: give
 * `sentBy` to the send.
 */
export async function refuseUnauthorized(
  c: Context<Env>,
  {
    service,
    permission,
    recalls = false,
  }: {
    readonly service: EndpointService
    readonly permission: Permission
    readonly recalls?: boolean
  },
): Promise<Response | undefined> {
  const apiKey = BEARER.exec(c.req.header('authorization') ?? '')?.[1]
  if (apiKey === undefined) return refuse(c, { kind: 'unauthorized' })
  c.set('apiKey', apiKey)
  const recalled = recalls ? service.keys.recall(apiKey) : undefined
  if (recalled?.permissions.includes(permission)) {
    c.set('projectId', recalled.projectId)
    c.set('sentBy', { id: recalled.id, isRecalled: true })
    return undefined
  }
  const found = await service.keys.authenticate(apiKey)
  if (found.isErr()) return refuse(c, found.error)
  c.set('projectId', found.value.projectId)
  c.set('sentBy', { id: found.value.id, isRecalled: false })
  return found.value.permissions.includes(permission)
    ? undefined
    : refuse(c, { kind: 'forbidden', permission })
}

/** Returns a refusal if a recalled key was revoked. Ask before you refuse for another reason. */
export async function refuseRevoked(
  c: Context<Env>,
  service: EndpointService,
): Promise<Response | undefined> {
  if (!c.get('sentBy').isRecalled) return undefined
  const found = await service.keys.authenticate(c.get('apiKey'))
  return found.isErr() ? refuse(c, found.error) : undefined
}
