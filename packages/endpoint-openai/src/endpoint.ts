import { exchange, withDefaults, type KitEnv } from '@org/agent-messaging-http-kit'
import { Hono } from 'hono'
import { chatRoutes } from './chat/routes.js'
import { refuse } from './errors.js'
import { modelRoutes } from './models.js'
import type { OpenAiEndpointOptions } from './options.js'
import { responseRoutes } from './responses/routes.js'

const ROOT = '/openai/v1'

/**
 * Creates the routes under `/openai/v1`, for clients of OpenAI's API. Serve its `fetch`, or mount
 * the app in a Hono app with `host.route('/', createOpenAiEndpoint(…))`.
 */
export function createOpenAiEndpoint(options: OpenAiEndpointOptions): Hono {
  const d = withDefaults(options)
  const app = new Hono<KitEnv>()
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
