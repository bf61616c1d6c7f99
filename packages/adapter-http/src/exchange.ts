import type { Context, MiddlewareHandler } from 'hono'
import { HTTPException } from 'hono/http-exception'
import { routePath } from 'hono/route'
import type { Env } from './env.js'
import { refuse } from './errors.js'
import type { HttpDeps, RequestFacts } from './options.js'

const REQUEST_ID = /^[A-Za-z0-9._-]{1,128}$/

/** Gives the request its id, and reports the request to `onRequest` when its answer is ready. */
export const exchange =
  ({
    newRequestId,
    onRequest,
    onError,
    now,
    basePath,
  }: Pick<
    HttpDeps,
    'newRequestId' | 'onRequest' | 'onError' | 'now' | 'basePath'
  >): MiddlewareHandler<Env> =>
  async (c, next) => {
    const startedAt = now()
    c.set('basePath', basePath)
    const sent = c.req.header('x-request-id')
    c.set('requestId', sent !== undefined && REQUEST_ID.test(sent) ? sent : newRequestId())
    try {
      // No id or name has NUL, and PostgreSQL cannot compare it.
      if (c.req.path.includes('\0')) c.res = refuse(c, { kind: 'route_not_found' })
      else await next()
    } catch (thrown) {
      // Hono passes only instances of Error to `app.onError`.
      c.res = answerThrown(c, thrown, onError)
    }
    onRequest?.(factsOf(c, now() - startedAt))
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

function factsOf(c: Context<Env>, durationMs: number): RequestFacts {
  const projectId = c.get('projectId') as string | undefined
  return {
    method: c.req.method,
    route: routePath(c),
    status: c.res.status,
    durationMs,
    requestId: c.get('requestId'),
    ...(projectId !== undefined && { projectId }),
    ...c.get('refusal'),
  }
}
