import type { Pass } from '@org/agent-messaging-core/host'
import { Hono } from 'hono'
import { z } from 'zod'
import { anyone, authorizeSecret } from '../authorize.js'
import type { Env } from '../env.js'
import { refuse } from '../errors.js'
import type { HttpDeps } from '../options.js'
import { ownAnswers, routesOf, shown } from '../route.js'
import { count, named } from '../wire/body.js'

const okSchema = z.object({ status: z.literal('ok') })
const showOk = () => ({ status: 'ok' }) as const

/** `/healthz` shows that the process answers, `/readyz` that its storage answers too. */
export const healthRoutes = (d: HttpDeps) => {
  const route = routesOf(d, { tag: 'Operations', access: anyone })
  return new Hono<Env>()
    .get(
      '/healthz',
      route(
        {
          operationId: 'getHealth',
          summary: 'Check that the process answers',
          answer: shown('The process answers', okSchema, showOk),
        },
        async () => undefined,
      ),
    )
    .get(
      '/readyz',
      route(
        {
          operationId: 'getReadiness',
          summary: 'Check that the storage can be read and written',
          errors: ['unavailable'],
          answer: shown('The storage can be read and written', okSchema, showOk),
        },
        () => d.service.host.ping(),
      ),
    )
}

/** Serves the host's metrics, if it has any. */
export function metricsRoutes(d: HttpDeps) {
  const routes = new Hono<Env>()
  const { metrics } = d
  if (!metrics) return routes
  const { token: secret } = metrics
  const kind = 'metrics_unauthorized'
  const access =
    secret === undefined ? anyone : authorizeSecret(d, { secret, scheme: 'metricsToken', kind })
  const route = routesOf(d, { tag: 'Operations', access })
  return routes.get(
    '/metrics',
    route(
      {
        operationId: 'getMetrics',
        summary: 'Read the metrics',
        answer: ownAnswers({
          200: {
            description: 'Metrics in the Prometheus text format',
            body: z.string(),
            mediaType: 'text/plain',
          },
        }),
      },
      async (c) => {
        const { contentType, text } = await metrics.read()
        return c.body(text, 200, {
          'Content-Type': contentType,
          'Cache-Control': 'no-store',
          'X-Request-Id': c.get('requestId'),
        })
      },
    ),
  )
}

const passSchema = named('Pass', {
  messages: count.describe('Runs started.'),
  deliveries: count.describe('Attempts started.'),
  cancelled: count.describe('Deliveries cancelled unsent.'),
  purgedDeliveries: count,
  purgedMessages: count,
})

/** Runs one bounded pass of all due work, and answers with its counts. */
export const cronRoutes = (d: HttpDeps) => {
  const access = authorizeSecret(d, {
    secret: d.cronSecret,
    scheme: 'cronSecret',
    kind: 'cron_unauthorized',
  })
  const pass = routesOf(d, { tag: 'Operations', access })(
    {
      operationId: 'runPass',
      summary: 'Do all due work, for a bounded time',
      description: 'For hosts without timers: a scheduler calls this route.',
      methods: { POST: 'runPass', GET: 'runPassByGet' },
      answer: shown('The counts of the pass', passSchema, (pass: Pass) => pass),
    },
    () => d.service.tick({ budgetMs: d.cronBudgetMs }),
  )
  // `all`, because Hono passes HEAD to a GET handler. A HEAD must not run a pass.
  return new Hono<Env>().all(
    '/api/cron/webhooks',
    async (c, next) =>
      c.req.method === 'GET' || c.req.method === 'POST'
        ? next()
        : refuse(c, { kind: 'method_not_allowed', allow: ['GET', 'POST'] }),
    pass,
  )
}
