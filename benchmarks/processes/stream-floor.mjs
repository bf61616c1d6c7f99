// The floor: writes the same server-sent events by hand.
import { serve } from '@hono/node-server'
import { Hono } from 'hono'
import { answer } from './answer.mjs'
import { answerInParts } from './parts.mjs'

const encoder = new TextEncoder()
const PATH = '/v1/agents/bench/messages'
let sent = 0

async function* eventsOf() {
  let index = 0
  for await (const part of answerInParts()) {
    const data = JSON.stringify({ attempt: 1, offset: 0, index: index++, part })
    yield encoder.encode(`id: 1:${index}\nevent: part\ndata: ${data}\n\n`)
  }
  yield encoder.encode('event: message\ndata: {}\n\n')
}

const app = new Hono()
  .post(PATH, async (c) => {
    await c.req.json()
    return c.json({}, 202, { Location: `${PATH}/${sent++}` })
  })
  .get(`${PATH}/:id/stream`, () => {
    const headers = { 'content-type': 'text/event-stream' }
    return new Response(ReadableStream.from(eventsOf()), { headers })
  })
serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' }, ({ port }) =>
  answer({ url: `http://127.0.0.1:${port}${PATH}`, headers: {} }),
)
