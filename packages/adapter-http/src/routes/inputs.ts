import type { Json } from '@org/agent-messaging-core'
import { orMissing } from '@org/agent-messaging-core/runtime'
import { Hono } from 'hono'
import { z } from 'zod'
import { authorize } from '../authorize.js'
import { describeRoute, type Service } from '../document/describe-route.js'
import type { Env } from '../env.js'
import { answer } from '../errors.js'
import type { HttpDeps } from '../options.js'
import { messageRef, byActor } from '../path-id.js'
import { readJson } from '../read-json.js'
import { fieldsOf, id, pageOf, paging, query, storableText } from '../schemas.js'
import { validBody, validQuery } from '../validate.js'
import { messageBody, messageSchema } from '../wire/message.js'
import { pageBody, pageSchema } from '../wire/page.js'
import { principalRef } from '../wire/principal.js'

const inputId = id.meta({ description: 'The `id` of the question.' })
const inputAnswer = fieldsOf({
  inputId,
  value: z
    .custom<Json>((value) => value !== undefined, orMissing('must be JSON'))
    .meta({ description: 'The answer, as its options or schema say.' }),
  // Any value: the service checks principals.
  executionPrincipal: z
    .unknown()
    .optional()
    .meta({
      description: 'The principal that answers. Default: the service.',
      shown: { $ref: principalRef, unevaluatedProperties: false },
    }),
}).meta({
  id: 'NewInputAnswer',
  examples: [{ inputId: '0198b2c4-5555-7a1b-8c2d-3e4f5a6b7c8d', value: 'approve' }],
})
const withdrawal = fieldsOf({ inputId }).meta({ id: 'InputWithdrawal' })

const list = query({
  ...paging,
  endUserId: storableText.optional().meta({ description: 'The end user of the principal.' }),
})

/** Questions of agents to people. */
export const inputRoutes = ({ service, maxBodyBytes }: HttpDeps) => {
  const maySend = authorize(service, 'project:message')
  return new Hono<Env>()
    .get('/v1/inputs', about.list, maySend, validQuery(list), (c) => {
      const { endUserId, ...page } = c.req.valid('query')
      const found = service.inputs.list({
        projectId: c.get('projectId'),
        endUserId,
        page: pageOf(page),
      })
      return answer(c, 200, found, pageBody(messageBody))
    })

    .post(
      '/v1/agents/:id/messages/:messageId/input',
      about.answer,
      maySend,
      readJson(maxBodyBytes),
      validBody(inputAnswer),
      (c) => {
        const given = { ...messageRef(c), ...c.req.valid('json') }
        return answer(c, 200, service.inputs.answer(byActor(c, given)), messageBody)
      },
    )

    .post(
      '/v1/agents/:id/messages/:messageId/input/withdraw',
      about.withdraw,
      maySend,
      readJson(maxBodyBytes),
      validBody(withdrawal),
      (c) => {
        const given = { ...messageRef(c), ...c.req.valid('json') }
        return answer(c, 200, service.inputs.withdraw(byActor(c, given)), messageBody)
      },
    )
}

const tag = 'Inputs'
const changed = { description: 'The message after the change', body: messageSchema }
const refusals = {
  agent_not_found: true,
  message_not_found: true,
  input_not_found: true,
  input_closed: true,
} as const

const about = {
  list: describeRoute<Service['inputs']['list']>({
    tag,
    operationId: 'listInputs',
    summary: 'List the messages that wait for a person, newest first',
    description: 'Each message has its open question as `input`.',
    answers: { 200: { description: 'One page', body: pageSchema(messageSchema) } },
  }),
  answer: describeRoute<Service['inputs']['answer']>({
    tag,
    operationId: 'answerInput',
    summary: 'Answer a question of an agent',
    description:
      'The agent runs again and gets the answer. The same answer can be sent again. Another ' +
      'answer is refused.',
    refusals: { ...refusals, input_restricted: true, principal_invalid: true },
    answers: { 200: changed },
  }),
  withdraw: describeRoute<Service['inputs']['withdraw']>({
    tag,
    operationId: 'withdrawInput',
    summary: 'Withdraw a question of an agent',
    description: 'The message fails with `INPUT_WITHDRAWN`.',
    refusals,
    answers: { 200: changed },
  }),
}
