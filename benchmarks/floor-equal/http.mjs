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

const eventShape = z.strictObject({
  type: text.max(100),
  data: z.record(z.string(), z.unknown()),
  id: text.max(255).optional(),
  sessionId: text.max(255).optional(),
  metadata: z.record(z.string(), z.unknown()).optional(),
})

/** Adds the route of a published event. `publish` returns whether it was published. */
const withPublish = (app, publish) =>
  app.post('/v1/events', async (c) => {
    const apiKey = BEARER.exec(c.req.header('authorization') ?? '')?.[1]
    const parsed = eventShape.safeParse(await c.req.json())
    if (apiKey === undefined || !parsed.success) return c.json({ error: 'BAD_REQUEST' }, 400)
    const { type, data, sessionId, metadata, id = ids.next() } = parsed.data
    const now = Date.now()
    const { channel, correlationId } = metadata ?? {}
    const isPublished = await publish({
      digest: hash('sha256', apiKey),
      id,
      type,
      sessionId: sessionId ?? null,
      fingerprint: hash('sha256', JSON.stringify([type, data, sessionId, metadata])),
      body: JSON.stringify({
        event: type,
        id,
        createdAt: new Date(now).toISOString(),
        data: { ...data, sessionId, metadata, channel, correlationId },
      }),
      now,
    })
    if (!isPublished) return c.json({ error: 'REFUSED' }, 422)
    const headers = { 'Cache-Control': 'no-store', 'X-Request-Id': ids.next() }
    return c.json({ id }, 202, headers)
  })

/**
 * Serves sends and published events on a free port, and returns the address of the given `path`.
 * `send` returns a message, or undefined if it was refused.
 */
export const serveRequests = (path, { send, publish }) =>
  new Promise((ready) => {
    const app = withPublish(new Hono(), publish).post('/v1/agents/:agent/messages', async (c) => {
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
      ready(`http://127.0.0.1:${port}${path}`),
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
