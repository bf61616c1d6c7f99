import { defaultLimits, type InputPart } from '@org/agent-messaging-core/runtime'
import {
  MAX_INPUT_PARTS,
  sendWebhookSettings,
  shownSend,
  type SendWebhook,
} from '@org/agent-messaging-core/host'
import { Hono } from 'hono'
import { z } from 'zod'
import { authorize } from '../authorize.js'
import { requestFields } from '../described.js'
import {
  chain,
  idempotencyKeyProblem,
  refusal,
  reply,
  senderOf,
} from '@org/agent-messaging-http-kit'
import type { Env } from '../env.js'
import { rateLimitHeaders } from '../errors.js'
import type { HttpDeps } from '../options.js'
import { agentIn, locationOf } from '../path-id.js'
import { appliedOf, readPrefer, waitMsOf } from '../prefer.js'
import { ownAnswers, routesOf } from '../route.js'
import { fieldsOf, jsonObject, nullAsAbsent, text, textOf } from '../schemas.js'
import { newInputPartSchema } from '../wire/input-part.js'
import { pendingSchema, respondedSchema } from '../wire/message.js'
import { principalRef } from '../wire/principal.js'
import { secretText } from './webhooks.js'

const described = requestFields<SendWebhook>(sendWebhookSettings)
const webhook = fieldsOf(
  nullAsAbsent({ ...described, secret: secretText.meta({ ...described.secret.meta() }) }),
  'must be an object with url and secret',
).meta({
  id: 'SendWebhook',
  description:
    'Gets the events of this message, signed with its secret, and is not a webhook of the ' +
    'project. A repeat of an `Idempotency-Key` adds none. Callers with a session token cannot ' +
    'give it.',
})

const inputParts = z.custom<readonly InputPart[]>(Array.isArray, 'must be a list of parts').meta({
  description:
    'Data, and files by reference, beside the text. At most 65,536 characters as JSON. Refused ' +
    'if the agent does not take them.',
  shown: z.array(newInputPartSchema).max(MAX_INPUT_PARTS),
})

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
      parts: inputParts.optional(),
      responseSchema: jsonObject
        .optional()
        .describe(
          'JSON Schema, at most 64 KiB, with the keywords of the schemas of questions. The answer ' +
            'must be JSON that matches it, or the message fails with `RESPONSE_INVALID`.',
        ),
      metadata: jsonObject
        .optional()
        .describe(
          'Returned in webhooks. `channel` and `correlationId` are repeated beside it there.',
        ),
      // Any value, even `null`: the service tells omitted, incomplete and malformed ones apart.
      executionPrincipal: z
        .unknown()
        .optional()
        .meta({ shown: { $ref: principalRef, unevaluatedProperties: false } }),
      webhook: webhook.optional(),
    }),
    'must be a JSON object',
  )
  .meta({
    id: 'NewMessage',
    examples: [{ sessionId: 'first', message: 'Hello', metadata: { channel: 'C1' } }],
  })

/** Sends a message, and waits for its answer for a bounded time. */
export const sendRoutes = (d: HttpDeps) => {
  const { service, basePath } = d
  const maxWaitMs = service.policy.syncWaitMs
  const access = authorize(d, 'messages.send', { recalls: true })
  const route = routesOf(d, { tag: 'Messages', access })
  return new Hono<Env>().post(
    '/v1/agents/:id/messages',
    route(
      {
        operationId: 'sendMessage',
        summary: 'Send a message to an agent and wait for its answer',
        description:
          'The wait is bounded: 30 seconds by default. Give your HTTP client a longer timeout, or ' +
          'send `Prefer: wait=3`. The agent continues to work after the wait. Read a later answer with ' +
          'GET, or receive it by webhook. Poll `state`: `status` stays `pending` after a failure.',
        requestHeaders: ['Idempotency-Key', 'Prefer', 'traceparent', 'tracestate'],
        body: newMessage,
        refusals: [
          'agent_not_found',
          'session_not_found',
          'end_user_id_required',
          'principal_invalid',
          'agent_not_running',
          'idempotency_mismatch',
          'session_full',
          'rate_limited',
          'unauthorized',
        ],
        answer: ownAnswers({
          200: { description: 'The answer', body: respondedSchema, headers: sentHeaders },
          202: {
            description: 'The message is accepted and has no answer yet',
            body: pendingSchema,
            headers: [...sentHeaders, 'Retry-After'],
          },
        }),
      },
      (c, sent) => {
        const sender = senderOf(c)
        const problem = idempotencyKeyProblem(sender.idempotencyKey)
        if (problem) return refusal(problem)
        const preferences = readPrefer(c.req.header('prefer'))
        const sending = service.messages.send({
          agent: agentIn(c.req.param('id')),
          waitMs: waitMsOf(preferences),
          ...sender,
          ...sent,
        })
        return chain(sending, ({ message, attached, levels = [] }) => {
          const body = shownSend(message)
          const isAsync = body.status === 'pending'
          const { Location } = locationOf(c, basePath, {
            route: '/v1/agents',
            id: `${message.agentId}/messages/${message.id}`,
          })
          const headers = {
            Location,
            ...(isAsync && POLL_SOON),
            ...(attached && { 'Idempotent-Replayed': 'true' }),
            ...rateLimitHeaders(c, levels),
            ...appliedOf(preferences, { maxWaitMs, isAsync }),
          }
          return reply(c, isAsync ? 202 : 200, body, headers)
        })
      },
    ),
  )
}

/** The seconds after which a caller without an answer can read the message. */
const POLL_SOON = { 'Retry-After': '1' }

const sentHeaders = [
  'Location',
  'Idempotent-Replayed',
  'Preference-Applied',
  'RateLimit-Policy',
  'RateLimit',
] as const
