import type { MessagingService, Permission } from '@org/agent-messaging-core'
import type { Context, MiddlewareHandler, Next } from 'hono'
import { annotated } from './document/describe-route.js'
import type { Env } from './env.js'
import { refuse } from './errors.js'

// One space, then a token without spaces and commas. Duplicate headers arrive joined by a comma.
const BEARER = /^bearer ([!-+\--~]+)$/i

/** Returns the token of `Authorization: Bearer <token>` (RFC 6750). The scheme has any case. */
export const bearerToken = (authorization: string | undefined): string | undefined =>
  authorization === undefined ? undefined : BEARER.exec(authorization)?.[1]

/** Accepts requests whose API key has exactly this permission, and sets their `projectId`. */
export function authorize(
  service: MessagingService,
  permission: Permission,
): MiddlewareHandler<Env> {
  return annotated(check, {
    security: { projectKey: [permission] },
    errors: ['unauthorized', 'forbidden', 'unavailable'],
  })

  async function check(c: Context<Env>, next: Next) {
    const key = bearerToken(c.req.header('authorization'))
    if (key === undefined) return refuse(c, { kind: 'unauthorized' })
    const found = await service.keys.authenticate(key)
    if (found.isErr()) return refuse(c, found.error)
    c.set('projectId', found.value.projectId)
    if (!found.value.permissions.includes(permission))
      return refuse(c, { kind: 'forbidden', permission })
    return next()
  }
}
