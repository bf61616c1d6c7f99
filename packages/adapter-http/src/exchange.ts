import { exchange as kitExchange } from '@org/agent-messaging-http-kit'
import type { Context, MiddlewareHandler, Next } from 'hono'
import { HTTPException } from 'hono/http-exception'
import type { Env } from './env.js'
import { refuse } from './errors.js'
import type { HttpDeps } from './options.js'

/** The exchange of the kit, for an app whose handlers can throw anything. */
export const exchange = (d: HttpDeps): MiddlewareHandler<Env> => {
  const enter = kitExchange({ ...d, newId: d.newRequestId })
  return (c, next) => {
    c.set('basePath', d.basePath)
    return enter(c, () => answerSafely(c, next, d.onError))
  }
}

async function answerSafely(c: Context<Env>, next: Next, onError: HttpDeps['onError']) {
  try {
    // No id or name has NUL, and PostgreSQL cannot compare it.
    if (c.req.path.includes('\0')) c.res = refuse(c, { kind: 'route_not_found' })
    else await next()
  } catch (thrown) {
    // Hono passes only instances of Error to `app.onError`.
    c.res = answerThrown(c, thrown, onError)
  }
}

/** Answers a value that a handler threw: malformed JSON (from Hono's validator) or a defect. */
export function answerThrown(
  c: Context<Env>,
  thrown: unknown,
  onError: HttpDeps['onError'],
): Response {
  if (thrown instanceof HTTPException && thrown.status === 400)
    return refuse(c, { kind: 'body_malformed', reason: 'is not valid JSON' })
  onError?.(thrown, c.get('requestId'))
  return refuse(c, { kind: 'internal' })
}
