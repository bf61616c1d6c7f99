import { Hono } from 'hono'
import { bearerToken } from '../bearer.js'
import { refuse } from '../errors.js'
import type { Env } from '../exchange.js'
import type { HttpDeps } from '../options.js'

/** Numbers for a scraper, if the host gives any. */
export function metricsRoutes({ metrics, crypto }: HttpDeps) {
  const routes = new Hono<Env>()
  if (!metrics) return routes
  return routes.get('/metrics', async (c) => {
    const sent = bearerToken(c.req.header('authorization')) ?? ''
    if (metrics.token !== undefined && !crypto.equal(sent, metrics.token)) return refuse(c, { kind: 'metrics_unauthorized' })
    const { contentType, text } = await metrics.read()
    return c.body(text, 200, { 'Content-Type': contentType, 'Cache-Control': 'no-store', 'X-Request-Id': c.get('requestId') })
  })
}
