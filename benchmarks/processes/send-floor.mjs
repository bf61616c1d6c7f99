// The floor: the same framework, validation and answer, with no store or with two durable commits.
import { serve } from '@hono/node-server'
import { zValidator } from '@hono/zod-validator'
import { Hono } from 'hono'
import { z } from 'zod'
import { answer } from './answer.mjs'
import { twoCommits } from './two-commits.mjs'

const { database } = JSON.parse(process.argv[2])
const commits = database === undefined ? undefined : await twoCommits(database)
const shape = z.object({
  sessionId: z.string().min(1),
  message: z.string().min(1),
  metadata: z.record(z.string(), z.unknown()).optional(),
})
const app = new Hono().post('/v1/agents/:id/messages', zValidator('json', shape), async (c) => {
  const body = c.req.valid('json')
  const id = await commits?.accept(JSON.stringify(body))
  if (commits) await commits.answer(id, body.message)
  return c.json({
    messageId: '018f6b1e-0000-7000-8000-000000000000',
    status: 'responded',
    response: body.message,
  })
})
serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' }, ({ port }) =>
  answer({ url: `http://127.0.0.1:${port}/v1/agents/bench/messages`, headers: {} }),
)
