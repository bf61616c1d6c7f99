import { Hono } from 'hono'
import { methodNotAllowed } from 'hono/method-not-allowed'
import type { Env } from './env.js'
import { refuse } from './errors.js'
import { answerThrown, exchange } from './exchange.js'
import { withDefaults, type HttpOptions } from './options.js'
import { agentRoutes } from './routes/agents.js'
import { auditRoutes } from './routes/audit-log.js'
import { cronRoutes } from './routes/cron.js'
import { deliveryRoutes } from './routes/deliveries.js'
import { eventRoutes } from './routes/events.js'
import { healthRoutes } from './routes/health.js'
import { keyRoutes } from './routes/keys.js'
import { inputPageRoutes } from './routes/input-page.js'
import { inputRoutes } from './routes/inputs.js'
import { messageChangeRoutes } from './routes/message-changes.js'
import { messageStreamRoutes } from './routes/message-stream.js'
import { messageRoutes } from './routes/messages.js'
import { metricsRoutes } from './routes/metrics.js'
import { openApiRoutes } from './routes/openapi.js'
import { portalRoutes } from './routes/portal-links.js'
import { principalRoutes } from './routes/principals.js'
import { projectRoutes } from './routes/projects.js'
import { recoveryRoutes } from './routes/recoveries.js'
import { runAnswerRoutes } from './routes/run-answers.js'
import { sendRoutes } from './routes/send.js'
import { sessionRoutes } from './routes/sessions.js'
import { usageRoutes } from './routes/usage.js'
import { webhookActionRoutes } from './routes/webhook-actions.js'
import { webhookRoutes } from './routes/webhooks.js'

/** The only paths that the middleware covers, so that a host can mount the app at its root. */
const PATHS = [
  '/v1/*',
  '/api/cron/webhooks',
  '/healthz',
  '/readyz',
  '/openapi.json',
  '/docs',
  '/docs/style.css',
  '/schemas/events/*',
  '/inputs/*',
]

/**
 * Creates the HTTP API of the service. Serve its `fetch`, or mount the app in a Hono app with
 * `host.route('/', createHttpApp(…))`. A host that adds headers to answers must do so after
 * `next()`.
 */
export function createHttpApp(options: HttpOptions): Hono<Env> {
  const d = withDefaults(options)
  const app = new Hono<Env>()
  const enter = exchange(d)
  app.onError((error, c) => answerThrown(c, error, d.onError))
  const paths = d.metrics ? [...PATHS, '/metrics'] : PATHS
  app.on('ALL', paths, enter)
  // Runs only if no host mounted the app: Hono asks the host's `notFound` otherwise.
  app.notFound(async (c) => {
    const answer = async (): Promise<void> => {
      c.res = refuse(c, { kind: 'route_not_found' })
    }
    // On one of PATHS, the middleware has run already and reports the request.
    const requestId = c.get('requestId') as string | undefined
    await (requestId === undefined ? enter(c, answer) : answer())
    return c.res
  })
  app
    .route('/', sendRoutes(d))
    .route('/', messageRoutes(d))
    .route('/', messageStreamRoutes(d))
    .route('/', messageChangeRoutes(d))
    .route('/', inputRoutes(d))
    .route('/', inputPageRoutes(d))
    .route('/', sessionRoutes(d))
    .route('/', runAnswerRoutes(d))
    .route('/', agentRoutes(d))
    .route('/', webhookRoutes(d))
    .route('/', webhookActionRoutes(d))
    .route('/', deliveryRoutes(d))
    .route('/', eventRoutes(d))
    .route('/', recoveryRoutes(d))
    .route('/', principalRoutes(d))
    .route('/', keyRoutes(d))
    .route('/', portalRoutes(d))
    .route('/', projectRoutes(d))
    .route('/', auditRoutes(d))
    .route('/', usageRoutes(d))
    .route('/', cronRoutes(d))
    .route('/', healthRoutes(d))
    .route('/', metricsRoutes(d))
    .route(
      '/',
      openApiRoutes(d, () => app.routes),
    )
  // Registered after all routes, so that a request that matches a route does not wait for this
  // check.
  app.on(
    'ALL',
    paths,
    methodNotAllowed({
      app,
      onMethodNotAllowed: (c, allow) => refuse(c, { kind: 'method_not_allowed', allow }),
    }),
  )
  return app.all('/v1/*', (c) => refuse(c, { kind: 'route_not_found' }))
}
