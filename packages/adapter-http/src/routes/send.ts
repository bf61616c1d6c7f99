import { defaultLimits } from '@org/agent-messaging-core/runtime'
import { Hono, type Context } from 'hono'
import { z } from 'zod'
import { basePathOf } from '../answer.js'
import { authorize, refuseRevoked } from '../authorize.js'
import { Caller, reply } from '@org/agent-messaging-http-kit'
import { checkedRoute } from '../checked-route.js'
import { describeRoute, type Service } from '../document/describe-route.js'
import type { Env } from '../env.js'
import { refuse } from '../errors.js'
import type { HttpDeps } from '../options.js'
import { agentRef } from '../path-id.js'
import { appliedOf, readPrefer, waitMsOf } from '../prefer.js'
import { readJson } from '../read-json.js'
import { jsonObject, nullAsAbsent, text, textOf } from '../schemas.js'
import { validBody } from '../validate.js'
import { pendingSchema, respondedSchema, sentBody } from '../wire/message.js'
import { principalRef } from '../wire/principal.js'
import { RATE_LIMIT_HEADERS, rateLimitHeaders } from '../wire/send-limits.js'

const newMessage = z
  .object(
    nullAsAbsent({
      sessionId: text.meta({
        ...textOf(defaultLimits.sessionIdLength),
        description: 'Any name. The messages of a session run one at a time, in order.',
      }),
      message: text.meta({
        ...textOf(defaultLimits.messageLength),
        description: 'The text for the agent.',
      }),
      metadata: jsonObject.optional().meta({
        description:
          'Returned in webhooks. `channel` and `correlationId` are repeated beside it there.',
      }),
      // Any value, even `null`: the service tells omitted, incomplete and malformed ones apart.
      executionPrincipal: z
        .unknown()
        .optional()
        .meta({ shown: { $ref: principalRef, unevaluatedProperties: false } }),
    }),
    'must be a JSON object',
  )
  .meta({
    id: 'NewMessage',
    examples: [{ sessionId: 'first', message: 'Hello', metadata: { channel: 'C1' } }],
  })

/** Sends a message, and waits for its answer for a bounded time. */
export const sendRoutes = ({ service, maxBodyBytes, basePath }: HttpDeps) =>
  new Hono<Env>().post(
    ...checkedRoute(
      '/v1/agents/:id/messages',
      [
        about.send,
        authorize(service, 'project:message', { recalls: true }),
        readJson(maxBodyBytes),
        validBody(newMessage),
      ],
      async (c) => {
        const idempotencyKey = c.req.header('idempotency-key')
        if (idempotencyKey?.includes(',')) return refuseDuplicateKeys(c)
        const preferences = readPrefer(c.req.header('prefer'))
        const sending = service.messages.send({
          ...agentRef(c),
          ...c.req.valid('json'),
          idempotencyKey,
          traceparent: c.req.header('traceparent'),
          tracestate: c.req.header('tracestate'),
          waitMs: waitMsOf(preferences),
          abort: new Caller(c),
          sentBy: c.get('access').sentBy,
        })
        return sending.match(
          ({ message, attached, levels = [] }) => {
            const body = sentBody(message)
            const isAsync = body.status === 'pending'
            const agents = `${basePathOf(c, { basePath, route: '/v1/agents' })}/v1/agents`
            return reply(c, isAsync ? 202 : 200, body, {
              Location: `${agents}/${message.agentId}/messages/${message.id}`,
              ...(isAsync && POLL_SOON),
              ...(attached && { 'Idempotent-Replayed': 'true' }),
              ...rateLimitHeaders(levels),
              ...appliedOf(preferences, { maxWaitMs: service.policy.syncWaitMs, isAsync }),
            })
          },
          async (error) => {
            // A storage that is not available does not say whether the key is revoked.
            const asksForKey = error.kind !== 'unavailable'
            const revoked = asksForKey ? await refuseRevoked(c) : undefined
            return revoked ?? refuse(c, error)
          },
        )
      },
    ),
  )

/** The seconds after which a caller without an answer can read the message. */
const POLL_SOON = { 'Retry-After': '1' }

/** Duplicate headers arrive joined by a comma. */
const refuseDuplicateKeys = (c: Context<Env>) =>
  refuse(c, {
    kind: 'invalid',
    issues: [{ path: 'Idempotency-Key', message: 'must be sent once, and without a comma' }],
  })

const sentHeaders = [
  'Location',
  'Idempotent-Replayed',
  'Preference-Applied',
  ...RATE_LIMIT_HEADERS,
] as const

const about = {
  send: describeRoute<Service['messages']['send']>({
    tag: 'Messages',
    operationId: 'sendMessage',
    summary: 'Send a message to an agent and wait for its answer',
    description:
      'The wait is bounded: 30 seconds by default. Give your HTTP client a longer timeout, or ' +
      'send `Prefer: wait=3`. The agent continues to work after the wait. Read a later answer with ' +
      'GET, or receive it by webhook. Poll `state`: `status` stays `pending` after a failure.',
    requestHeaders: ['Idempotency-Key', 'Prefer', 'traceparent', 'tracestate'],
    refusals: {
      agent_not_found: true,
      end_user_id_required: true,
      principal_invalid: true,
      agent_not_running: true,
      idempotency_mismatch: true,
      session_full: true,
      rate_limited: true,
      unauthorized: true,
    },
    answers: {
      200: { description: 'The answer', body: respondedSchema, headers: sentHeaders },
      202: {
        description: 'The message is accepted and has no answer yet',
        body: pendingSchema,
        headers: [...sentHeaders, 'Retry-After'],
      },
    },
  }),
}
