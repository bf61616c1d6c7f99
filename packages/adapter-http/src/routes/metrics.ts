import { bearerToken } from '@org/agent-messaging-http-kit'
import { Hono } from 'hono'
import { z } from 'zod'
import { describeRoute } from '../document/describe-route.js'
import { refuse } from '../errors.js'
import type { Env } from '../env.js'
import type { HttpDeps } from '../options.js'

/** Serves the host's metrics, if it has any. */
export function metricsRoutes({ metrics, crypto }: HttpDeps) {
  const routes = new Hono<Env>()
  if (!metrics) return routes
  return routes.get('/metrics', aboutMetrics(metrics.token !== undefined), async (c) => {
    const sent = bearerToken(c.req.raw)
    // An empty token, such as from an unset variable, accepts no request.
    if (metrics.token !== undefined && (sent === undefined || !crypto.equal(sent, metrics.token)))
      return refuse(c, { kind: 'metrics_unauthorized' })
    const { contentType, text } = await metrics.read()
    return c.body(text, 200, {
      'Content-Type': contentType,
      'Cache-Control': 'no-store',
      'X-Request-Id': c.get('requestId'),
    })
  })
}

const aboutMetrics = (isGuarded: boolean) =>
  describeRoute({
    tag: 'Operations',
    operationId: 'getMetrics',
    summary: 'Read the metrics',
    ...(isGuarded && { security: { metricsToken: [] }, errors: ['metrics_unauthorized'] }),
    answers: {
      200: {
        description: 'Metrics in the Prometheus text format',
        body: z.string(),
        mediaType: 'text/plain',
      },
    },
  })
