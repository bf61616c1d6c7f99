import { Hono } from 'hono'
import { ok } from 'neverthrow'
import { z } from 'zod'
import { authorizeSecret } from '../authorize.js'
import type { Env } from '../env.js'
import type { HttpDeps } from '../options.js'
import { ownAnswers, routesOf } from '../route.js'

/** Serves the host's metrics, if it has any. */
export function metricsRoutes(d: HttpDeps) {
  const routes = new Hono<Env>()
  const { metrics } = d
  if (!metrics) return routes
  const { token: secret, read } = metrics
  const kind = 'metrics_unauthorized'
  const access =
    secret !== undefined && authorizeSecret(d, { secret, scheme: 'metricsToken', kind })
  const route = routesOf(d, { tag: 'Operations', ...(access && { access }) })
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
        const { contentType, text } = await read()
        return ok(
          c.body(text, 200, {
            'Content-Type': contentType,
            'Cache-Control': 'no-store',
            'X-Request-Id': c.get('requestId'),
          }),
        )
      },
    ),
  )
}
