import { given, MAX_SEARCHED_TEXT } from '@org/agent-messaging-core/runtime'
import { Hono } from 'hono'
import { authorize } from '../authorize.js'
import { Caller, reply } from '@org/agent-messaging-http-kit'
import { checkedRoute } from '../checked-route.js'
import { describeRoute, type Service } from '../document/describe-route.js'
import type { Env } from '../env.js'
import { answer, refuse } from '../errors.js'
import type { HttpDeps } from '../options.js'
import { agentRef, messageRef } from '../path-id.js'
import { appliedOf, readPrefer } from '../prefer.js'
import { id, instant, oneOf, pageOf, paging, query, storableText } from '../schemas.js'
import { validQuery } from '../validate.js'
import {
  foundMessageBody,
  foundMessageSchema,
  messageBody,
  messageSchema,
  messageStates,
  messageStateSchema,
  messageStatusSchema,
} from '../wire/message.js'
import { pageBody, pageSchema } from '../wire/page.js'

const sessionId = storableText.optional().meta({ description: 'The session of the messages.' })
const status = oneOf(['pending', 'responded'])
  .meta({ shown: messageStatusSchema })
  .optional()
  .meta({ description: '`pending` covers every state except `responded`.' })
const state = oneOf(messageStates)
  .meta({ shown: messageStateSchema })
  .optional()
  .meta({ description: 'The state of the messages.' })

const list = query({
  ...paging,
  sessionId,
  status,
  state,
  order: oneOf(['asc', 'desc'])
    .optional()
    .meta({ description: '`desc`, the default: newest first. `asc`: oldest first.' }),
})

const search = query({
  ...paging,
  messageId: id.optional().meta({ description: 'The message with this id.' }),
  sessionId,
  endUserId: storableText.optional().meta({ description: 'The end user of the principal.' }),
  correlationId: storableText
    .optional()
    .meta({ description: '`correlationId` of the metadata, a string or a number.' }),
  text: storableText.optional().meta({
    maxLength: MAX_SEARCHED_TEXT,
    description:
      'A part of the message or of its answer. ASCII letters match in either case. ' +
      'This parameter has no index, so a page looks at 10,000 messages or 4 MiB of texts at most.',
  }),
  status,
  state,
  createdAfter: instant.optional().meta({ description: 'Inclusive.' }),
  createdBefore: instant.optional().meta({ description: 'Exclusive.' }),
})

export const messageRoutes = ({ service }: HttpDeps) =>
  new Hono<Env>()
    .get(
      '/v1/messages',
      about.search,
      authorize(service, 'project:message'),
      validQuery(search),
      (c) => {
        const { limit, cursor, ...wanted } = c.req.valid('query')
        const found = service.messages.search({
          projectId: c.get('projectId'),
          ...given(wanted),
          page: pageOf({ limit, cursor }),
          abort: new Caller(c),
        })
        return answer(c, 200, found, pageBody(foundMessageBody))
      },
    )

    .get(
      '/v1/agents/:id/messages',
      about.list,
      authorize(service, 'project:message'),
      validQuery(list),
      (c) => {
        const { limit, cursor, ...filter } = c.req.valid('query')
        const page = pageOf({ limit, cursor })
        const found = service.messages.list({ ...agentRef(c), ...filter, page })
        return answer(c, 200, found, pageBody(messageBody))
      },
    )

    .get(
      ...checkedRoute(
        '/v1/agents/:id/messages/:messageId',
        [about.get, authorize(service, 'project:message')],
        async (c) => {
          const preferences = readPrefer(c.req.header('prefer'))
          const found = await service.messages.get({
            ...messageRef(c),
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

const about = {
  search: describeRoute<Service['messages']['search']>({
    tag,
    operationId: 'searchMessages',
    summary: 'Find messages over all agents, newest first',
    description:
      'Each message has its deliveries. Messages of one session come in the order of their ' +
      'places. A page can have fewer messages than its limit, or none. Continue until ' +
      '`nextCursor` is null.',
    answers: { 200: { description: 'One page', body: pageSchema(foundMessageSchema) } },
  }),
  list: describeRoute<Service['messages']['list']>({
    tag,
    operationId: 'listMessages',
    summary: 'List the messages of an agent',
    refusals: { agent_not_found: true },
    answers: { 200: { description: 'One page', body: pageSchema(messageSchema) } },
  }),
  get: describeRoute<Service['messages']['get']>({
    tag,
    operationId: 'getMessage',
    summary: 'Read a message',
    description: '`Prefer: wait=N` waits until the message is final, for at most N seconds.',
    requestHeaders: ['Prefer'],
    refusals: { agent_not_found: true, message_not_found: true },
    answers: {
      200: { description: 'The message', body: messageSchema, headers: ['Preference-Applied'] },
    },
  }),
}
