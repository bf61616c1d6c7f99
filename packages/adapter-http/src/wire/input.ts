import type { Json } from '@org/agent-messaging-core'
import { z } from 'zod'
import { jsonObject } from '../schemas.js'
import { at, uuid, named } from './body.js'
import { principalSchema } from './principal.js'

export const json = z.custom<Json>().describe('Any JSON.')

/** The fields of a question. */
const questionFields = {
  id: uuid.describe('Send it with the answer, as `inputId`.'),
  question: z.string(),
  options: z
    .array(z.string())
    .readonly()
    .optional()
    .describe('The answer must be one of these texts.'),
  schema: jsonObject
    .optional()
    .describe('JSON Schema of the answer. Without a schema and options, the answer is a text.'),
  answerBy: z
    .literal('execution_principal')
    .optional()
    .describe('Only the principal of the message can answer.'),
}

export const openInputSchema = named(
  'OpenInput',
  {
    ...questionFields,
    askedAt: at,
    expiresAt: at.describe('The deadline of the answer.'),
  },
  { description: 'A question of an agent that waits for an answer.' },
)

export const inputAnswerSchema = named('InputAnswer', {
  value: json,
  executionPrincipal: principalSchema
    .optional()
    .describe('The principal that answered. Absent if the deadline gave the answer of the agent.'),
  answeredAt: at,
})

export const inputSchema = named(
  'Input',
  { ...questionFields, askedAt: at, answer: inputAnswerSchema.optional() },
  { description: 'A question of an agent, with its answer.' },
)
