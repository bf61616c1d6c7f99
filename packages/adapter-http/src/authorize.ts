import type { MessagingService, Permission } from '@org/agent-messaging-core'
import type { Context, MiddlewareHandler, Next } from 'hono'
import { bearerToken } from './bearer.js'
import { noted } from './document/describe-route.js'
import { refuse } from './errors.js'
import type { Env } from './env.js'

/** Lets through whose API key has exactly this permission, and says which project that is. */
export function authorize(
  service: MessagingService,
  permission: Permission,
): MiddlewareHandler<Env> {
  return noted(letThrough, {
    security: { apiKey: [permission] },
    errors: ['unauthorized', 'forbidden', 'unavailable'],
  })

  async function letThrough(c: Context<Env>, next: Next) {
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
