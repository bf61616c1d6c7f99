import type { MessagingService } from '@org/agent-messaging-core'
import { Hono } from 'hono'
import { waysToSet } from '../settings/environment.js'
import { openListener, type Listener } from '../listener/http-listener.js'
import type { Metrics } from './metrics.js'

type Address = { readonly host: string; readonly port: number | undefined }

/** Serves only `/metrics` on its own port, without authentication. */
export async function openMetricsListener(
  { host, port }: Address,
  service: MessagingService,
  metrics: Metrics | undefined,
): Promise<Listener | undefined> {
  if (!metrics || port === undefined) return undefined
  const app = new Hono().get('/metrics', async (c) => {
    const { contentType, text } = await metrics.read(service)
    return c.body(text, 200, { 'Content-Type': contentType })
  })
  return openListener({
    host,
    port,
    portSetting: waysToSet('SERVICE_METRICS_PORT'),
    fetch: (request) => app.fetch(request),
  })
}
