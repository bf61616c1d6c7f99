import { Hono } from 'hono'
import { methodNotAllowed } from 'hono/method-not-allowed'
import { refuse } from './errors.js'
import type { Env } from './env.js'
import { answerThrown, exchange } from './exchange.js'
import { withDefaults, type HttpOptions } from './options.js'
import { agentRoutes } from './routes/agents.js'
import { cronRoutes } from './routes/cron.js'
import { deliveryRoutes } from './routes/deliveries.js'
import { healthRoutes } from './routes/health.js'
import { keyRoutes } from './routes/keys.js'
import { messageChangeRoutes } from './routes/message-changes.js'
import { messageStreamRoutes } from './routes/message-stream.js'
import { messageRoutes } from './routes/messages.js'
import { metricsRoutes } from './routes/metrics.js'
import { openApiRoutes } from './routes/openapi.js'
import { principalRoutes } from './routes/principals.js'
import { runAnswerRoutes } from './routes/run-answers.js'
import { sessionRoutes } from './routes/sessions.js'
import { webhookRoutes } from './routes/webhooks.js'

/** Nothing here reaches beyond these paths, so that a host may mount the app at its root, among routes of its own. */
const PATHS = [
  '/v1/*',
  '/api/cron/webhooks',
  '/healthz',
  '/readyz',
  '/openapi.json',
  '/docs',
  '/docs/style.css',
  '/schemas/events/*',
]

/**
 * The service as an HTTP API: serve its `fetch`, or mount it with `host.route('/', createHttpApp(…))`. A host that adds
 * headers to its answers does so after `next()`.
 */
export function createHttpApp(options: HttpOptions) {
  const d = withDefaults(options)
  const app = new Hono<Env>()
  const enter = exchange(d)
  app.onError((error, c) => answerThrown(c, error, d.onError))
  const paths = d.metrics ? [...PATHS, '/metrics'] : PATHS
  app.on('ALL', paths, enter)
  // Only when the app is served by itself; mounted, Hono asks the host, and what is under /v1 ends in the last route below.
  app.notFound(async (c) => {
    const answer = async (): Promise<void> => {
      c.res = refuse(c, { kind: 'route_not_found' })
    }
    // On a path of ours it has been entered already, and is not to be told of twice.
    const requestId = c.get('requestId') as string | undefined
    await (requestId === undefined ? enter(c, answer) : answer())
    return c.res
  })
  const routed = app
    .route('/', messageRoutes(d))
    .route('/', messageStreamRoutes(d))
    .route('/', messageChangeRoutes(d))
    .route('/', sessionRoutes(d))
    .route('/', runAnswerRoutes(d))
    .route('/', agentRoutes(d))
    .route('/', webhookRoutes(d))
    .route('/', deliveryRoutes(d))
    .route('/', principalRoutes(d))
    .route('/', keyRoutes(d))
    .route('/', cronRoutes(d))
    .route('/', healthRoutes(d))
    .route('/', metricsRoutes(d))
    .route(
      '/',
      openApiRoutes(d, () => app.routes),
    )
  // Behind all routes, where only what none of them took arrives: so the others need not wait for it.
  app.on(
    'ALL',
    paths,
    methodNotAllowed({
      app,
      onMethodNotAllowed: (c, allow) => refuse(c, { kind: 'method_not_allowed', allow }),
    }),
  )
  return routed.all('/v1/*', (c) => refuse(c, { kind: 'route_not_found' }))
}

/** For Hono's typed client: `hc<HttpApp>(baseUrl)`. */
export type HttpApp = ReturnType<typeof createHttpApp>
