import type { Actor, EndpointService, Permission } from '@org/agent-messaging-core'
import { byApiKey, refusalOfAccess, type Access } from '@org/agent-messaging-http-kit'
import type { Context, MiddlewareHandler, Next } from 'hono'
import { annotated } from './document/describe-route.js'
import type { Env } from './env.js'
import { refuse } from './errors.js'

/**
 * Accepts requests whose API key has exactly this permission, and sets their `access`.
 *
 * With `recalls`, a key that was valid before is not read again. The route must give
 * `sentBy` to the call that stores something, and answer what `refuseRevoked` returns before
 * it refuses anything else.
 */
export function authorize(
  { keys }: Pick<EndpointService, 'keys'>,
  permission: Permission,
  { recalls = false }: { readonly recalls?: boolean } = {},
): MiddlewareHandler<Env> {
  const authenticate = byApiKey(keys)
  return annotated(check, {
    security: { projectKey: [permission] },
    errors: ['unauthorized', 'forbidden', 'unavailable'],
  })

  async function check(c: Context<Env>, next: Next) {
    const refusal = await refusalOfAccess(c, authenticate, { permission, recalls })
    if (refusal) return refuse(c, refusal)
    // A host that mounts the app can set another actor.
    c.set('actor', (c.get('actor') as Actor | undefined) ?? c.get('access').actor)
    return next()
  }
}

/** Returns a refusal if the request has a recalled key that is not valid now. */
export async function refuseRevoked(c: Context<Env>): Promise<Response | undefined> {
  const access = c.get('access') as Access | undefined
  const revoked = await access?.confirm()
  return revoked && refuse(c, revoked)
}
