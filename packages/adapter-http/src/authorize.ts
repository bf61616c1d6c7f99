import type { Actor, ApiKey, EndpointService, Permission } from '@org/agent-messaging-core'
import type { Context, MiddlewareHandler, Next } from 'hono'
import { annotated } from './document/describe-route.js'
import type { Env } from './env.js'
import { refuse } from './errors.js'

// One space, then a token without spaces and commas. Duplicate headers arrive joined by a comma.
const BEARER = /^bearer ([!-+\--~]+)$/i

/** Returns the token of `Authorization: Bearer <token>` (RFC 6750). The scheme has any case. */
export const bearerToken = (authorization: string | undefined): string | undefined =>
  authorization === undefined ? undefined : BEARER.exec(authorization)?.[1]

/**
 * Accepts requests whose API key has exactly this permission, and sets their `projectId`.
 *
 * With `recalls`, a key that was valid before is not read again. The route must give
 * `sentBy` to the call that stores something, and answer what `refuseRevoked` returns before
 * it refuses anything else.
 */
export function authorize(
  service: EndpointService,
  permission: Permission,
  { recalls = false }: { readonly recalls?: boolean } = {},
): MiddlewareHandler<Env> {
  return annotated(check, {
    security: { projectKey: [permission] },
    errors: ['unauthorized', 'forbidden', 'unavailable'],
  })

  async function check(c: Context<Env>, next: Next) {
    const key = bearerToken(c.req.header('authorization'))
    if (key === undefined) return refuse(c, { kind: 'unauthorized' })
    const recalled = recalls ? service.keys.recall(key) : undefined
    if (!recalled?.permissions.includes(permission)) return checkNow(c, next, key)
    c.set('projectId', recalled.projectId)
    setActor(c, recalled)
    c.set('sentBy', { id: recalled.id, isRecalled: true })
    c.set('refuseRevoked', async () => {
      const found = await service.keys.authenticate(key)
      return found.isErr() ? refuse(c, found.error) : undefined
    })
    return next()
  }

  async function checkNow(c: Context<Env>, next: Next, key: string) {
    const found = await service.keys.authenticate(key)
    if (found.isErr()) return refuse(c, found.error)
    c.set('projectId', found.value.projectId)
    setActor(c, found.value)
    c.set('sentBy', { id: found.value.id, isRecalled: false })
    if (!found.value.permissions.includes(permission))
      return refuse(c, { kind: 'forbidden', permission })
    return next()
  }
}

/** A host that mounts the app can set another actor. */
const setActor = (c: Context<Env>, { id }: ApiKey): void =>
  c.set('actor', (c.get('actor') as Actor | undefined) ?? { kind: 'key', id })
