// What no design beats on this stack: the same framework, validation and answer, with nothing behind them.
import { serve } from '@hono/node-server'
import { zValidator } from '@hono/zod-validator'
import { Hono } from 'hono'
import { z } from 'zod'
import { usage } from './usage.mjs'

const body = z.object({ sessionId: z.string().min(1), message: z.string().min(1), metadata: z.record(z.string(), z.unknown()).optional() })
const app = new Hono().post('/v1/agents/:id/messages', zValidator('json', body), (c) =>
  c.json({ messageId: '018f6b1e-0000-7000-8000-000000000000', status: 'responded', response: c.req.valid('json').message }),
)
serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' }, ({ port }) =>
  process.send({ url: `http://127.0.0.1:${port}/v1/agents/echo/messages`, headers: {} }),
)
process.on('message', () => process.send(usage()))
