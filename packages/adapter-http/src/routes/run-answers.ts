import type { Json } from '@org/agent-messaging-core'
import {
  beginningOf,
  defaultLimits,
  failedRun,
  isStorableText,
  parseRunUsage,
  type AskingRun,
  type EndedRun,
} from '@org/agent-messaging-core/runtime'
import type { EndpointService } from '@org/agent-messaging-core/host'
import { bearerToken } from '@org/agent-messaging-http-kit'
import { Hono, type MiddlewareHandler } from 'hono'
import { z } from 'zod'
import { annotated } from '../document/describe-route.js'
import { refuse } from '../errors.js'
import type { Env } from '../env.js'
import type { HttpDeps } from '../options.js'
import { agentIn, idIn } from '../path-id.js'
import { routesOf, withoutBody } from '../route.js'
import { boolean, jsonObject, NO_NUL, number, nullAsAbsent, text } from '../schemas.js'

const MAX_ERROR_LENGTH = 1_000

const error = z
  .object(
    nullAsAbsent({
      message: text
        .refine(isStorableText, 'must not contain NUL or lone surrogates')
        .meta({ pattern: NO_NUL }),
      retryable: boolean.optional().describe('`true`: the message runs again.'),
    }),
    'must be an object',
  )
  .meta({ id: 'RunAnswerError' })

/** The service checks these fields. */
const question = {
  question: text.optional().describe('A question to a person.'),
  options: z.array(text).optional(),
  schema: jsonObject.optional().describe('JSON Schema of the answer.'),
  answerBy: z.literal('execution_principal').optional(),
  context: z
    .array(z.object({ message: text, response: text.optional() }))
    .optional()
    .describe('The conversation on the page of the one-time link, at most 20 messages.'),
  expiresInMs: number.optional().describe('Default: 7 days.'),
  onExpiry: z
    .custom<Json>((value) => value !== undefined)
    .optional()
    .meta({
      description: '`fail`, or an object with the `answer` of the deadline.',
      shown: {
        anyOf: [
          { const: 'fail' },
          { type: 'object', properties: { answer: {} }, required: ['answer'] },
        ],
      },
    }),
}

const tokens = z.int('must be a whole number').min(0).optional()

const runAnswer = z
  .object(
    nullAsAbsent({
      response: text.meta({ maxLength: defaultLimits.responseLength, pattern: NO_NUL }).optional(),
      error: error.optional(),
      parts: z
        .array(jsonObject, 'must be a list of part events')
        .optional()
        .describe(
          'With `response`: the part events of the run in their order, each a `PartEvent` or ' +
            '`{"type":"text-delta","text"}`. Wrong events are dropped.',
        ),
      ...question,
      usage: z
        .object({ inputTokens: tokens, outputTokens: tokens }, 'must be an object')
        .optional()
        .describe('The tokens of a model that the run used.'),
    }),
    'must be a JSON object',
  )
  .refine(
    ({ response, error: failure, question: asked }) =>
      [response, failure, asked].filter((one) => one !== undefined).length === 1,
    'must have either response, error or question',
  )
  .meta({
    id: 'RunAnswer',
    description:
      'Either `response`, `error` or `question`. The fields after `question` belong to it.',
    examples: [
      { response: 'Hello!' },
      { response: 'Hello!', parts: [{ type: 'reasoning-delta', id: 'r', text: 'Think.' }] },
      { error: { message: 'the model is busy', retryable: true } },
      { question: 'Pay 1,200 EUR?', options: ['yes', 'no'] },
    ],
  })

/** Accepts the late answer of a runtime. The run token of the message replaces the API key. */
export const runAnswerRoutes = (d: HttpDeps) => {
  const { service, maxAnswerBytes: maxBodyBytes } = d
  const route = routesOf(d, { tag: 'Runtimes', access: withRunToken(service) })
  return new Hono<Env>().post(
    '/v1/agents/:id/messages/:messageId/response',
    route(
      {
        operationId: 'answerRun',
        summary: 'Answer a message late',
        description: 'For a runtime that accepted the message and answers later.',
        body: runAnswer,
        maxBodyBytes,
        errors: ['unavailable'],
        refusals: ['run_token_invalid', 'message_not_found', 'run_superseded'],
        answer: withoutBody('The answer is stored'),
      },
      (c, sent) =>
        service.host.answerRun({
          agent: agentIn(c.req.param('id')),
          messageId: idIn(c.req.param('messageId')),
          runToken: c.get('runToken'),
          run: endedRun(sent),
          parts: sent.parts,
        }),
    ),
  )
}

/** Refuses a request without the message's run token, before its body is read. */
const withRunToken = (service: EndpointService): MiddlewareHandler<Env> =>
  annotated<MiddlewareHandler<Env>>(
    async (c, next) => {
      const runToken = bearerToken(c.req.raw) ?? ''
      const messageId = idIn(c.req.param('messageId'))
      if (!service.host.isRunToken({ messageId, runToken }))
        return refuse(c, { kind: 'run_token_invalid' })
      c.set('runToken', runToken)
      return next()
    },
    { security: { runToken: [] }, errors: ['run_token_invalid'] },
  )

function endedRun({ usage, parts: _, ...sent }: z.infer<typeof runAnswer>): EndedRun {
  const run = outcomeOf(sent)
  const used = parseRunUsage(usage)
  return used ? { ...run, usage: used } : run
}

function outcomeOf({
  response,
  error,
  ...asked
}: Omit<z.infer<typeof runAnswer>, 'parts' | 'usage'>): EndedRun {
  if (asked.question !== undefined) return { kind: 'input_required', ...asked } as AskingRun
  if (error === undefined) return { kind: 'answered', response: response ?? '' }
  return failedRun('RUNTIME_ERROR', beginningOf(error.message, MAX_ERROR_LENGTH), error.retryable)
}
