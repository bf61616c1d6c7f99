import { given } from '@org/agent-messaging-core/runtime'
import {
  MAX_SEARCHED_TEXT,
  MESSAGE_STATES,
  shownFoundMessage,
  shownMessage,
} from '@org/agent-messaging-core/host'
import { Hono } from 'hono'
import { Caller, callerOf, chain, reply } from '@org/agent-messaging-http-kit'
import type { Env } from '../env.js'
import type { HttpDeps } from '../options.js'
import { agentRef, byAccess, byActor, messageRef } from '../path-id.js'
import { appliedOf, readPrefer } from '../prefer.js'
import { ownAnswers, routesOf, shown, shownPage } from '../route.js'
import {
  id,
  instant,
  ofAgentAndUser,
  oneOf,
  paging,
  parts,
  query,
  storableText,
} from '../schemas.js'
import {
  foundMessageSchema,
  messageSchema,
  messageStateSchema,
  messageStatusSchema,
} from '../wire/message.js'
import { at } from '../wire/body.js'
import { messageRunsBody, messageRunsSchema } from '../wire/run.js'

const sessionId = storableText.optional().describe('The session of the messages.')
const status = oneOf(['pending', 'responded'])
  .meta({ shown: messageStatusSchema })
  .optional()
  .describe('`pending` covers every state except `responded`.')
const state = oneOf(MESSAGE_STATES)
  .meta({ shown: messageStateSchema })
  .optional()
  .describe('The state of the messages.')

const list = query({
  ...paging,
  parts,
  sessionId,
  status,
  state,
  order: oneOf(['asc', 'desc'])
    .optional()
    .describe('`desc`, the default: newest first. `asc`: oldest first.'),
})

const search = query({
  ...paging,
  parts,
  messageId: id.optional().describe('The message with this id.'),
  ...ofAgentAndUser,
  sessionId,
  correlationId: storableText
    .optional()
    .describe('`correlationId` of the metadata, a string or a number.'),
  text: storableText.optional().meta({
    maxLength: MAX_SEARCHED_TEXT,
    description:
      'A part of the message, of its answer or of its session’s name, or the last 8 or more ' +
      'characters of its id. ASCII letters match in either case. This parameter has no index, so ' +
      'a page looks at 10,000 messages or 4 MiB of texts at most. `lookedBackTo` says how far.',
  }),
  status,
  state,
  createdAfter: instant.optional().describe('Inclusive.'),
  createdBefore: instant.optional().describe('Exclusive.'),
})

const lookedBackTo = at
  .optional()
  .describe('The time of the oldest message that the page looked at. Absent on the last page.')

/** Finds messages of all agents. */
export const searchRoutes = (d: HttpDeps) => {
  const { messages } = d.service
  const route = routesOf(d, { tag: 'Messages' })
  return new Hono<Env>().get(
    '/v1/messages',
    route(
      {
        operationId: 'searchMessages',
        call: 'messages.search',
        summary: 'Find messages of all agents or of one, newest first',
        description:
          'Each message has its deliveries. Messages of one session come in the order of their ' +
          'places. A page can have fewer messages than its limit, or none. Continue until ' +
          '`nextCursor` is null.',
        query: search,
        refusals: ['agent_not_found'],
        answer: shownPage(foundMessageSchema, shownFoundMessage, { lookedBackTo }),
      },
      (c, { limit, cursor, parts, ...wanted }) =>
        messages.search({
          ...callerOf(c),
          ...given(wanted),
          parts: parts === 'true',
          limit,
          cursor,
          abort: new Caller(c),
        }),
    ),
  )
}

export const messageRoutes = (d: HttpDeps) => {
  const { messages, policy } = d.service
  const route = routesOf(d, { tag: 'Messages' })
  return new Hono<Env>()
    .get(
      '/v1/agents/:id/messages',
      route(
        {
          operationId: 'listMessages',
          call: 'messages.list',
          summary: 'List the messages of an agent',
          query: list,
          refusals: ['agent_not_found'],
          answer: shownPage(messageSchema, shownMessage),
        },
        (c, { limit, cursor, parts, ...filter }) =>
          messages.list({
            ...byAccess(c, agentRef(c)),
            ...filter,
            parts: parts === 'true',
            limit,
            cursor,
          }),
      ),
    )
    .get(
      '/v1/agents/:id/messages/:messageId',
      route(
        {
          operationId: 'getMessage',
          call: 'messages.get',
          summary: 'Read a message',
          description: '`Prefer: wait=N` waits until the message is final, for at most N seconds.',
          requestHeaders: ['Prefer'],
          refusals: ['agent_not_found', 'message_not_found'],
          answer: ownAnswers({
            200: {
              description: 'The message',
              body: messageSchema,
              headers: ['Preference-Applied'],
            },
          }),
        },
        (c) => {
          const preferences = readPrefer(c.req.header('prefer'))
          const applied = appliedOf(preferences, { maxWaitMs: policy.syncWaitMs, isAsync: false })
          const waitMs = (preferences.waitSeconds ?? 0) * 1_000
          const abort = new Caller(c)
          const found = messages.get({ ...byAccess(c, messageRef(c)), waitMs, abort })
          return chain(found, (message) => reply(c, 200, shownMessage(message), applied))
        },
      ),
    )
    .get(
      '/v1/agents/:id/messages/:messageId/runs',
      route(
        {
          operationId: 'listRuns',
          call: 'messages.runs',
          summary: 'List the runs of a message, oldest first',
          refusals: ['agent_not_found', 'message_not_found'],
          answer: shown('The runs', messageRunsSchema, messageRunsBody),
        },
        (c) => messages.runs(messageRef(c)),
      ),
    )
}

/** Cancels or retries a message. Both routes answer with the changed message. */
export const messageChangeRoutes = (d: HttpDeps) => {
  const { messages } = d.service
  const route = routesOf(d, { tag: 'Messages' })
  return new Hono<Env>()
    .post(
      '/v1/agents/:id/messages/:messageId/cancel',
      route(
        {
          operationId: 'cancelMessage',
          call: 'messages.cancel',
          summary: 'Cancel a message that is not final',
          refusals: ['agent_not_found', 'message_not_found', 'message_final'],
          answer: shown('The message after the change', messageSchema, shownMessage),
        },
        (c) => messages.cancel(byActor(c, byAccess(c, messageRef(c)))),
      ),
    )
    .post(
      '/v1/agents/:id/messages/:messageId/retry',
      route(
        {
          operationId: 'retryMessage',
          call: 'messages.retry',
          summary: 'Retry a failed or cancelled message',
          description: 'The message goes to the end of its session’s queue.',
          refusals: [
            'agent_not_found',
            'message_not_found',
            'message_not_retryable',
            'agent_not_running',
            'session_full',
          ],
          answer: shown('The message after the change', messageSchema, shownMessage, 202),
        },
        (c) => messages.retry(byActor(c, byAccess(c, messageRef(c)))),
      ),
    )
}
