import { Hono, type MiddlewareHandler } from 'hono'
import { routePath } from 'hono/route'
import { chatRoutes } from './chat/routes.js'
import type { Env } from './env.js'
import { refuse } from './errors.js'
import { modelRoutes } from './models.js'
import { withDefaults, type Deps, type OpenAiEndpointOptions } from './options.js'
import { responseRoutes } from './responses/routes.js'

const ROOT = '/openai/v1'
const REQUEST_ID = /^[A-Za-z0-9._-]{1,128}$/

/**
 * Creates the routes under `/openai/v1`, for clients of OpenAI's API. Serve its `fetch`, or mount
 * the app in a Hono app with `host.route('/', createOpenAiEndpoint(…))`.
 */
export function createOpenAiEndpoint(options: OpenAiEndpointOptions): Hono {
  const d = withDefaults(options)
  const app = new Hono<Env>()
  app.onError((error, c) => {
    d.onError?.(error, c.get('requestId'))
    return refuse(c, { kind: 'internal' })
  })
  app
    .use(`${ROOT}/*`, exchange(d))
    .route(ROOT, responseRoutes(d))
    .route(ROOT, chatRoutes(d))
    .route(ROOT, modelRoutes(d))
    .all(`${ROOT}/*`, (c) => refuse(c, { kind: 'route_not_found' }))
  // A host does not see the variables of the routes.
  return app as unknown as Hono
}

/** Gives the request its id, and reports the request when its answer is ready. */
const exchange =
  ({ newId, now, onRequest }: Deps): MiddlewareHandler<Env> =>
  async (c, next) => {
    const startedAt = now()
    const sent = c.req.header('x-request-id')
    c.set('requestId', sent !== undefined && REQUEST_ID.test(sent) ? sent : newId())
    await next()
    const projectId = c.get('projectId') as string | undefined
    onRequest?.({
      method: c.req.method,
      route: routePath(c),
      status: c.res.status,
      durationMs: now() - startedAt,
      requestId: c.get('requestId'),
      ...(projectId !== undefined && { projectId }),
    })
  }
