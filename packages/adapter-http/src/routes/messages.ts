import { isStorableText, type MessageStateKind } from '@org/agent-messaging-core'
import { Hono } from 'hono'
import { z } from 'zod'
import { located, reply } from '../answer.js'
import { authorize } from '../authorize.js'
import { refuse } from '../errors.js'
import type { Env } from '../exchange.js'
import type { HttpDeps } from '../options.js'
import { agentIn, idIn } from '../path-id.js'
import { appliedOf, readPrefer, waitMsOf } from '../prefer.js'
import { readJson } from '../read-json.js'
import { jsonObject, oneOf, pageOf, paging, text } from '../schemas.js'
import { validBody, validQuery } from '../validate.js'
import { messageBody, sentBody } from '../wire/message.js'
import { pageBody } from '../wire/page.js'

const send = z.object(
  {
    sessionId: text,
    message: text,
    metadata: jsonObject.optional(),
    // Left as it was sent, `null` too: the service tells an omitted, an incomplete and a malformed one apart (S§4.1).
    executionPrincipal: z.unknown().optional(),
  },
  'must be a JSON object',
)

const states = ['queued', 'running', 'deferred', 'responded', 'failed', 'cancelled'] as const satisfies readonly MessageStateKind[]

const list = z.object({
  ...paging,
  sessionId: text.refine(isStorableText, 'must not hold NUL').optional(),
  status: oneOf(['pending', 'responded']).optional(),
  state: oneOf(states).optional(),
  order: oneOf(['asc', 'desc']).optional(),
})

export const messageRoutes = ({ service, maxBodyBytes }: HttpDeps) =>
  new Hono<Env>()
    .post('/v1/agents/:id/messages', authorize(service, 'project:message'), readJson(maxBodyBytes), validBody(send), async (c) => {
      const idempotencyKey = c.req.header('idempotency-key')
      if (idempotencyKey?.includes(',')) {
        // So do duplicate headers arrive; which one would count?
        return refuse(c, { kind: 'invalid', issues: [{ path: 'Idempotency-Key', message: 'must be sent once, without a comma' }] })
      }
      const preferences = readPrefer(c.req.header('prefer'))
      const sent = await service.messages.send({
        projectId: c.get('projectId'),
        agent: agentIn(c.req.param('id')),
        ...c.req.valid('json'),
        idempotencyKey,
        traceparent: c.req.header('traceparent'),
        tracestate: c.req.header('tracestate'),
        waitMs: waitMsOf(preferences),
        abort: c.req.raw.signal,
      })
      if (sent.isErr()) return refuse(c, sent.error)
      const { message, attached } = sent.value
      const body = sentBody(message)
      const isAsync = body.status === 'pending'
      return reply(c, isAsync ? 202 : 200, body, {
        Location: located(c, `/v1/agents/${message.agentId}/messages/${message.id}`),
        ...(attached && { 'Idempotent-Replayed': 'true' }),
        ...appliedOf(preferences, { maxWaitMs: service.policy.syncWaitMs, isAsync }),
      })
    })

    .get('/v1/agents/:id/messages', authorize(service, 'project:message'), validQuery(list), async (c) => {
      const { limit, cursor, ...filter } = c.req.valid('query')
      const page = pageOf({ limit, cursor })
      const found = await service.messages.list({ projectId: c.get('projectId'), agent: agentIn(c.req.param('id')), ...filter, page })
      return found.isErr() ? refuse(c, found.error) : reply(c, 200, pageBody(found.value, messageBody))
    })

    .get('/v1/agents/:id/messages/:messageId', authorize(service, 'project:message'), async (c) => {
      const preferences = readPrefer(c.req.header('prefer'))
      const found = await service.messages.get({
        projectId: c.get('projectId'),
        agent: agentIn(c.req.param('id')),
        messageId: idIn(c.req.param('messageId')),
        waitMs: (preferences.waitSeconds ?? 0) * 1_000,
        abort: c.req.raw.signal,
      })
      if (found.isErr()) return refuse(c, found.error)
      return reply(c, 200, messageBody(found.value), appliedOf(preferences, { maxWaitMs: service.policy.syncWaitMs, isAsync: false }))
    })
