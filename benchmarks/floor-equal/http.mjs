// The HTTP side of both floors: the route of a send, and the agent.
import { hash } from 'node:crypto'
import { serve } from '@hono/node-server'
import { nodePlatform } from '@org/agent-messaging-core/node'
import { Hono } from 'hono'
import { z } from 'zod'

export const { ids } = nodePlatform({ masterKey: Buffer.alloc(32, 1) })

const BEARER = /^bearer ([!-+\--~]+)$/i
const text = z.string().min(1)
const shape = z.object({
  sessionId: text.max(255),
  message: text.max(100_000),
  metadata: z.record(z.string(), z.unknown()).optional(),
})

/** Answers at once. */
export const agent = async ({ message }) => message

/** Serves sends on a free port. `send` returns a message, or undefined if it was refused. */
export const serveSends = (send) =>
  new Promise((ready) => {
    const app = new Hono().post('/v1/agents/:agent/messages', async (c) => {
      const apiKey = BEARER.exec(c.req.header('authorization') ?? '')?.[1]
      const parsed = shape.safeParse(await c.req.json())
      if (apiKey === undefined || !parsed.success) return c.json({ error: 'BAD_REQUEST' }, 400)
      const { sessionId, message, metadata } = parsed.data
      const sent = await send({
        digest: hash('sha256', apiKey),
        agent: c.req.param('agent'),
        id: ids.next(),
        key: c.req.header('idempotency-key') ?? null,
        fingerprint: hash('sha256', JSON.stringify([sessionId, message, metadata ?? null])),
        sessionId,
        message,
        metadata,
        now: Date.now(),
      })
      if (!sent) return c.json({ error: 'REFUSED' }, 409)
      const { id, agentId, response } = sent
      const isPending = response === null
      const status = isPending ? 'pending' : 'responded'
      return new Response(
        JSON.stringify(isPending ? { messageId: id, status } : { messageId: id, status, response }),
        {
          status: isPending ? 202 : 200,
          headers: {
            'Content-Type': 'application/json',
            'Cache-Control': 'no-store',
            'X-Request-Id': ids.next(),
            Location: `/v1/agents/${agentId}/messages/${id}`,
          },
        },
      )
    })
    serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' }, ({ port }) =>
      ready(`http://127.0.0.1:${port}/v1/agents/bench/messages`),
    )
  })

/** The body of the event `message.responded`. */
export function respondedBody({ eventId, message, agentId, principal, response, now }) {
  const { id, sessionId, metadata = {} } = message
  const { channel, correlationId } = metadata
  return JSON.stringify({
    event: 'message.responded',
    id: eventId,
    createdAt: new Date(now).toISOString(),
    data: {
      messageId: id,
      agentId,
      sessionId,
      executionPrincipal: principal,
      metadata,
      channel,
      correlationId,
      response,
      responseTimeMs: now - message.now,
    },
  })
}
