import { type MessagingService } from '@org/agent-messaging-core'
import {
  beginningOf,
  defaultLimits,
  failedRun,
  isStorableText,
  type FinishedRun,
} from '@org/agent-messaging-core/runtime'
import { Hono, type MiddlewareHandler } from 'hono'
import { z } from 'zod'
import { replyEmpty } from '../answer.js'
import { bearerToken } from '../authorize.js'
import { annotated, describeRoute, type Service } from '../document/describe-route.js'
import { refuse } from '../errors.js'
import type { Env } from '../env.js'
import type { HttpDeps } from '../options.js'
import { agentIn, idIn } from '../path-id.js'
import { readJson } from '../read-json.js'
import { boolean, NO_NUL, nullAsAbsent, text } from '../schemas.js'
import { validBody } from '../validate.js'

const MAX_ERROR_LENGTH = 1_000

const error = z
  .object(
    nullAsAbsent({
      message: text
        .refine(isStorableText, 'must not contain NUL or lone surrogates')
        .meta({ pattern: NO_NUL }),
      retryable: boolean.optional().meta({ description: '`true`: the message runs again.' }),
    }),
    'must be an object',
  )
  .meta({ id: 'RunAnswerError' })

const runAnswer = z
  .object(
    nullAsAbsent({
      response: text.meta({ maxLength: defaultLimits.responseLength, pattern: NO_NUL }).optional(),
      error: error.optional(),
    }),
    'must be a JSON object',
  )
  .refine(
    (sent) => (sent.response === undefined) !== (sent.error === undefined),
    'must have either response or error',
  )
  .meta({
    id: 'RunAnswer',
    description: 'Either `response` or `error`.',
    examples: [
      { response: 'Hello!' },
      { error: { message: 'the model is busy', retryable: true } },
    ],
  })

/** Accepts the late answer of a runtime. The run token of the message replaces the API key. */
export const runAnswerRoutes = ({ service, maxAnswerBytes }: HttpDeps) =>
  new Hono<Env>().post(
    '/v1/agents/:id/messages/:messageId/response',
    about.answer,
    withRunToken(service),
    readJson(maxAnswerBytes),
    validBody(runAnswer),
    async (c) => {
      const answered = await service.messages.answer({
        agent: agentIn(c.req.param('id')),
        messageId: idIn(c.req.param('messageId')),
        runToken: c.get('runToken'),
        run: finishedRun(c.req.valid('json')),
      })
      return answered.isErr() ? refuse(c, answered.error) : replyEmpty(c)
    },
  )

/** Refuses a request without the message's run token, before its body is read. */
const withRunToken = (service: MessagingService): MiddlewareHandler<Env> =>
  annotated<MiddlewareHandler<Env>>(
    async (c, next) => {
      const runToken = bearerToken(c.req.header('authorization')) ?? ''
      const messageId = idIn(c.req.param('messageId'))
      if (!service.messages.isRunToken({ messageId, runToken }))
        return refuse(c, { kind: 'run_token_invalid' })
      c.set('runToken', runToken)
      return next()
    },
    { security: { runToken: [] }, errors: ['run_token_invalid'] },
  )

function finishedRun({ response, error }: z.infer<typeof runAnswer>): FinishedRun {
  if (error === undefined) return { kind: 'answered', response: response ?? '' }
  return failedRun('RUNTIME_ERROR', beginningOf(error.message, MAX_ERROR_LENGTH), error.retryable)
}

const about = {
  answer: describeRoute<Service['messages']['answer']>({
    tag: 'Runtimes',
    operationId: 'answerRun',
    summary: 'Answer a message late',
    description: 'For a runtime that accepted the message and answers later.',
    errors: ['unavailable'],
    refusals: { run_token_invalid: true, message_not_found: true, run_superseded: true },
    answers: { 204: { description: 'The answer is stored' } },
  }),
}
