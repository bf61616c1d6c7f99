// The floor: requests on the same framework without an answer.
import { serve } from '@hono/node-server'
import { Hono } from 'hono'
import { answer } from './answer.mjs'

let accepted = 0
const app = new Hono().post('/v1/agents/:id/messages', async (c) => {
  await c.req.json()
  accepted++
  return new Promise(() => undefined)
})
serve(
  { fetch: app.fetch, port: 0, hostname: '127.0.0.1', overrideGlobalObjects: false },
  ({ port }) =>
    answer(
      { url: `http://127.0.0.1:${port}/v1/agents/bench/messages`, headers: {} },
      { count: () => ({ accepted }) },
    ),
)
