import { isStorableText } from '@org/agent-messaging-core/runtime'
import { Hono, type Context } from 'hono'
import { z } from 'zod'
import { located, reply } from '../answer.js'
import { authorize } from '../authorize.js'
import { describeRoute, type Service } from '../document/describe-route.js'
import { refuse } from '../errors.js'
import type { Env } from '../env.js'
import { checkedRoute } from '../checked-route.js'
import type { HttpDeps } from '../options.js'
import { agentIn, idIn } from '../path-id.js'
import { appliedOf, readPrefer, waitMsOf } from '../prefer.js'
import { readJson } from '../read-json.js'
import { jsonObject, oneOf, pageOf, paging, text } from '../schemas.js'
import { validBody, validQuery } from '../validate.js'
import {
  messageBody,
  messageSchema,
  messageStates,
  pendingSchema,
  respondedSchema,
  sentBody,
} from '../wire/message.js'
import { pageBody, pageSchema } from '../wire/page.js'
import { principalSchema } from '../wire/principal.js'

const send = z
  .object(
    {
      sessionId: text.meta({
        minLength: 1,
        description:
          'Of your choice. One message of a session runs at a time, in the order of acceptance.',
      }),
      message: text.meta({ minLength: 1 }),
      metadata: jsonObject.optional().meta({
        description:
          'Comes back in webhooks; its `channel` and `correlationId` once more at the top.',
      }),
      // Left as it was sent, `null` too: the service tells an omitted, an incomplete and a malformed one apart (S§4.1).
      executionPrincipal: z.unknown().optional().meta({ shown: principalSchema }),
    },
    'must be a JSON object',
  )
  .meta({
    id: 'NewMessage',
    examples: [{ sessionId: 'first', message: 'Hello', metadata: { channel: 'C1' } }],
  })

const list = z.object({
  ...paging,
  sessionId: text.refine(isStorableText, 'must not hold NUL').optional(),
  status: oneOf(['pending', 'responded']).optional(),
  state: oneOf(messageStates).optional(),
  order: oneOf(['asc', 'desc']).optional(),
})

/** What @hono/node-server binds. */
type NodeBindings = {
  readonly incoming?: { readonly socket?: { readonly destroyed: boolean } | null }
}

/** Whether the caller is still there. On Node its socket tells: to make a signal for each who waits costs a kilobyte more. */
class Caller {
  readonly #c: Context<Env>

  constructor(c: Context<Env>) {
    this.#c = c
  }

  get aborted(): boolean {
    const { env, req } = this.#c
    return (env as NodeBindings | undefined)?.incoming?.socket?.destroyed ?? req.raw.signal.aborted
  }
}

export const messageRoutes = ({ service, maxBodyBytes }: HttpDeps) =>
  new Hono<Env>()
    .post(
      ...checkedRoute(
        '/v1/agents/:id/messages',
        [
          about.send,
          authorize(service, 'project:message'),
          readJson(maxBodyBytes),
          validBody(send),
        ],
        async (c) => {
          const idempotencyKey = c.req.header('idempotency-key')
          if (idempotencyKey?.includes(',')) {
            // So do duplicate headers arrive; which one would count?
            return refuse(c, {
              kind: 'invalid',
              issues: [{ path: 'Idempotency-Key', message: 'must be sent once, without a comma' }],
            })
          }
          const preferences = readPrefer(c.req.header('prefer'))
          const sending = service.messages.send({
            projectId: c.get('projectId'),
            agent: agentIn(c.req.param('id')),
            ...c.req.valid('json'),
            idempotencyKey,
            traceparent: c.req.header('traceparent'),
            tracestate: c.req.header('tracestate'),
            waitMs: waitMsOf(preferences),
            abort: new Caller(c),
          })
          return sending.match(
            ({ message, attached }) => {
              const body = sentBody(message)
              const isAsync = body.status === 'pending'
              return reply(c, isAsync ? 202 : 200, body, {
                Location: located(c, `/v1/agents/${message.agentId}/messages/${message.id}`),
                ...(attached && { 'Idempotent-Replayed': 'true' }),
                ...appliedOf(preferences, { maxWaitMs: service.policy.syncWaitMs, isAsync }),
              })
            },
            (error) => refuse(c, error),
          )
        },
      ),
    )

    .get(
      '/v1/agents/:id/messages',
      about.list,
      authorize(service, 'project:message'),
      validQuery(list),
      async (c) => {
        const { limit, cursor, ...filter } = c.req.valid('query')
        const page = pageOf({ limit, cursor })
        const found = await service.messages.list({
          projectId: c.get('projectId'),
          agent: agentIn(c.req.param('id')),
          ...filter,
          page,
        })
        return found.isErr()
          ? refuse(c, found.error)
          : reply(c, 200, pageBody(found.value, messageBody))
      },
    )

    .get(
      ...checkedRoute(
        '/v1/agents/:id/messages/:messageId',
        [about.get, authorize(service, 'project:message')],
        async (c) => {
          const preferences = readPrefer(c.req.header('prefer'))
          const found = await service.messages.get({
            projectId: c.get('projectId'),
            agent: agentIn(c.req.param('id')),
            messageId: idIn(c.req.param('messageId')),
            waitMs: (preferences.waitSeconds ?? 0) * 1_000,
            abort: new Caller(c),
          })
          if (found.isErr()) return refuse(c, found.error)
          return reply(
            c,
            200,
            messageBody(found.value),
            appliedOf(preferences, { maxWaitMs: service.policy.syncWaitMs, isAsync: false }),
          )
        },
      ),
    )

const tag = 'Messages'
const sentHeaders = ['Location', 'Idempotent-Replayed', 'Preference-Applied'] as const

const about = {
  send: describeRoute<Service['messages']['send']>({
    ...{
      tag,
      operationId: 'sendMessage',
      summary: 'Send a message to an agent, and wait a while for its answer',
    },
    description:
      'The work goes on whether anybody waits or not; an answer that comes later is read by GET, and reaches webhooks.',
    requestHeaders: ['Idempotency-Key', 'Prefer', 'traceparent', 'tracestate'],
    refusals: {
      agent_not_found: true,
      end_user_id_required: true,
      principal_invalid: true,
      agent_not_running: true,
      idempotency_mismatch: true,
      session_full: true,
    },
    answers: {
      200: { description: 'The answer came in time', body: respondedSchema, headers: sentHeaders },
      202: {
        description: 'The message is accepted; its answer comes later',
        body: pendingSchema,
        headers: sentHeaders,
      },
    },
  }),
  list: describeRoute<Service['messages']['list']>({
    ...{ tag, operationId: 'listMessages', summary: 'List the messages of an agent' },
    refusals: { agent_not_found: true },
    answers: { 200: { description: 'One page', body: pageSchema(messageSchema) } },
  }),
  get: describeRoute<Service['messages']['get']>({
    ...{ tag, operationId: 'getMessage', summary: 'Read a message' },
    description: '`Prefer: wait=N` waits until it is final.',
    requestHeaders: ['Prefer'],
    refusals: { agent_not_found: true, message_not_found: true },
    answers: {
      200: { description: 'The message', body: messageSchema, headers: ['Preference-Applied'] },
    },
  }),
}
