import type { Json } from '@org/agent-messaging-core'
import { orMissing } from '@org/agent-messaging-core/runtime'
import { shownMessage } from '@org/agent-messaging-core/host'
import { callerOf } from '@org/agent-messaging-http-kit'
import { Hono } from 'hono'
import { z } from 'zod'
import type { Env } from '../env.js'
import type { HttpDeps } from '../options.js'
import { byAccess, byActor, messageRef } from '../path-id.js'
import { routesOf, shown, shownPage } from '../route.js'
import { id, ofAgentAndUser, paging, query, storableText, namedFields } from '../schemas.js'
import { messageSchema } from '../wire/message.js'
import { principalRef } from '../wire/principal.js'

const inputId = id.describe('The `id` of the question.')
const inputAnswer = namedFields(
  'NewInputAnswer',
  {
    inputId,
    value: z
      .custom<Json>((value) => value !== undefined, orMissing('must be JSON'))
      .describe('The answer, as its options or schema say.'),
    // Any value: the service checks principals.
    executionPrincipal: z
      .unknown()
      .optional()
      .meta({
        description: 'The principal that answers. Default: the service.',
        shown: { $ref: principalRef, unevaluatedProperties: false },
      }),
  },
  { examples: [{ inputId: '0198b2c4-5555-7a1b-8c2d-3e4f5a6b7c8d', value: 'approve' }] },
)
const withdrawal = namedFields('InputWithdrawal', { inputId })

const list = query({
  ...paging,
  cursor: storableText.optional().describe('The `nextCursor` of the previous page.'),
  ...ofAgentAndUser,
  sessionId: storableText.optional().describe('The id of the session.'),
})

/** Questions of agents to people. */
export const inputRoutes = (d: HttpDeps) => {
  const { inputs } = d.service
  const route = routesOf(d, { tag: 'Inputs' })
  const answer = shown('The message after the change', messageSchema, shownMessage)
  return new Hono<Env>()
    .get(
      '/v1/inputs',
      route(
        {
          operationId: 'listInputs',
          call: 'inputs.list',
          summary: 'List the messages that wait for a person, the nearest deadline first',
          description: 'Each message has its open question as `input`.',
          query: list,
          refusals: ['agent_not_found'],
          answer: shownPage(messageSchema, shownMessage),
        },
        (c, asked) => inputs.list({ ...callerOf(c), ...asked }),
      ),
    )
    .post(
      '/v1/agents/:id/messages/:messageId/input',
      route(
        {
          operationId: 'answerInput',
          call: 'inputs.answer',
          summary: 'Answer a question of an agent',
          description:
            'The agent runs again and gets the answer. The same answer can be sent again. Another ' +
            'answer is refused.',
          body: inputAnswer,
          refusals: [...refusals, 'input_restricted', 'principal_invalid'],
          answer,
        },
        (c, sent) => inputs.answer(byActor(c, byAccess(c, { ...messageRef(c), ...sent }))),
      ),
    )
    .post(
      '/v1/agents/:id/messages/:messageId/input/withdraw',
      route(
        {
          operationId: 'withdrawInput',
          call: 'inputs.withdraw',
          summary: 'Withdraw a question of an agent',
          description: 'The message fails with `INPUT_WITHDRAWN`.',
          body: withdrawal,
          refusals,
          answer,
        },
        (c, sent) => inputs.withdraw(byActor(c, { ...messageRef(c), ...sent })),
      ),
    )
}

const refusals = [
  'agent_not_found',
  'message_not_found',
  'input_not_found',
  'input_closed',
] as const
