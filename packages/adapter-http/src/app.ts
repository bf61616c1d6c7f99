import { exchange, PLATFORM_PROJECT } from '@org/agent-messaging-http-kit'
import { Hono, type MiddlewareHandler, type Next } from 'hono'
import { methodNotAllowed } from 'hono/method-not-allowed'
import { notesOf } from './document/describe-route.js'
import type { Env, RouteContext } from './env.js'
import { refuse } from './errors.js'
import { belowProject } from './path-id.js'
import { type HttpDeps, type HttpOptions, withDefaults } from './options.js'
import { agentChangeRoutes, agentRoutes } from './routes/agents.js'
import { auditRoutes } from './routes/audit-log.js'
import { deliveryRoutes } from './routes/deliveries.js'
import { eventTypeRoutes } from './routes/event-types.js'
import { eventRoutes } from './routes/events.js'
import { publishRoutes } from './routes/publish.js'
import { inputPageRoutes } from './routes/input-page.js'
import { inputRoutes } from './routes/inputs.js'
import { keyRoutes } from './routes/keys.js'
import { messageStreamRoutes } from './routes/message-stream.js'
import { messageChangeRoutes, messageRoutes, searchRoutes } from './routes/messages.js'
import { storyRoutes } from './routes/stories.js'
import { openApiRoutes } from './routes/openapi.js'
import { cronRoutes, healthRoutes, metricsRoutes } from './routes/operator.js'
import { portalRoutes } from './routes/portal-links.js'
import { principalRoutes } from './routes/principals.js'
import { platformKeyRoutes, projectKeyRoutes, projectRoutes } from './routes/projects.js'
import { recoveryDecisionRoutes, recoveryRoutes, retryRoutes } from './routes/recoveries.js'
import { runAnswerRoutes } from './routes/run-answers.js'
import { sendRoutes } from './routes/send.js'
import { sessionTokenRoutes } from './routes/session-tokens.js'
import { sessionRoutes } from './routes/sessions.js'
import { statsRoutes } from './routes/stats.js'
import { rotationRoutes, webhookActionRoutes } from './routes/webhook-actions.js'
import { webhookRoutes } from './routes/webhooks.js'

/** In the order of the document. */
const ROUTES = [
  sendRoutes,
  searchRoutes,
  messageRoutes,
  storyRoutes,
  messageStreamRoutes,
  messageChangeRoutes,
  inputRoutes,
  inputPageRoutes,
  sessionRoutes,
  runAnswerRoutes,
  agentRoutes,
  agentChangeRoutes,
  webhookRoutes,
  webhookActionRoutes,
  rotationRoutes,
  deliveryRoutes,
  eventRoutes,
  eventTypeRoutes,
  publishRoutes,
  recoveryRoutes,
  retryRoutes,
  recoveryDecisionRoutes,
  principalRoutes,
  keyRoutes,
  sessionTokenRoutes,
  portalRoutes,
  projectRoutes,
  projectKeyRoutes,
  platformKeyRoutes,
  auditRoutes,
  statsRoutes,
  cronRoutes,
  healthRoutes,
  metricsRoutes,
]

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

/** Tells whether a path without the base path belongs to the API. */
export const isApiPath = (path: string): boolean =>
  PATHS.some((own) => (own.endsWith('*') ? path.startsWith(own.slice(0, -1)) : path === own))

/**
 * Creates the HTTP API of the service. Serve its `fetch`, or mount the app in a Hono app with
 * `host.route('/', createHttpApp(…))`. A host that adds headers to answers must do so after
 * `next()`.
 */
export function createHttpApp(options: HttpOptions): Hono<Env> {
  const d = withDefaults(options)
  const app = new Hono<Env>()
  const enter = exchangeOf(d)
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
  for (const routes of ROUTES) app.route('/', routes(d))
  app.route(
    '/',
    openApiRoutes(d, () => app.routes.slice(0, documented)),
  )
  const documented = app.routes.length
  for (const { method, path, handler } of app.routes.slice())
    if (isOfPlatform(path, handler))
      app.on(method, belowProject(path, `:${PLATFORM_PROJECT}`), handler)
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

/**
 * True for a route that a platform key opens too, below the project. No platform key reads or makes
 * the API keys of a project.
 */
const isOfPlatform = (path: string, handler: object): boolean =>
  notesOf(handler)?.security?.projectKey !== undefined && !path.startsWith('/v1/keys')

/** The exchange of the kit, for an app whose handlers can throw anything. */
const exchangeOf = (d: HttpDeps): MiddlewareHandler<Env> => {
  const enter = exchange({ ...d, newId: d.newRequestId })
  return (c, next) => {
    c.set('basePath', d.basePath)
    return enter(c, () => answerSafely(c, next, d.onError))
  }
}

async function answerSafely(c: RouteContext, next: Next, onError: HttpDeps['onError']) {
  try {
    // No id or name has NUL, and PostgreSQL cannot compare it.
    if (c.req.path.includes('\0')) c.res = refuse(c, { kind: 'route_not_found' })
    else await next()
  } catch (thrown) {
    // Hono passes only instances of Error to `app.onError`.
    c.res = answerThrown(c, thrown, onError)
  }
}

/** Answers a value that a handler threw, which is a defect. */
function answerThrown(c: RouteContext, thrown: unknown, onError: HttpDeps['onError']): Response {
  onError?.(thrown, c.get('requestId'))
  return refuse(c, { kind: 'internal' })
}
