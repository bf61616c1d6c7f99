import { MESSAGE_STATES } from '@org/agent-messaging-core/host'
import { z } from 'zod'
import { jsonObject } from '../schemas.js'
import { at, count, uuid, named, namedEnum } from './body.js'
import { inputSchema, openInputSchema } from './input.js'
import { inputPartSchema } from './input-part.js'
import { deliverySchema } from './delivery.js'
import { partSchema } from './part.js'
import { principalSchema } from './principal.js'
import { runErrorSchema, runUsageSchema } from './run.js'

export const messageStateSchema = z.enum(MESSAGE_STATES).meta({
  id: 'MessageState',
  description: 'The detailed state. `status` is `pending` in every state except `responded`.',
})
export const messageStatusSchema = namedEnum('MessageStatus', ['pending', 'responded'])
const messageId = '0198b2c4-6f0e-7a1b-8c2d-3e4f5a6b7c8d'

export const respondedSchema = named(
  'Responded',
  { messageId: uuid, status: z.literal('responded'), response: z.string() },
  { examples: [{ messageId, status: 'responded', response: 'Hello!' }] },
)
export const pendingSchema = named(
  'Pending',
  { messageId: uuid, status: z.literal('pending') },
  { examples: [{ messageId, status: 'pending' }] },
)

export const messageSchema = named('Message', {
  messageId: uuid,
  agentId: uuid,
  sessionId: z.string(),
  status: messageStatusSchema,
  state: messageStateSchema,
  message: z.string(),
  inputParts: z.array(inputPartSchema).readonly().optional().describe('The parts of the send.'),
  responseSchema: jsonObject.optional().describe('JSON Schema of the answer.'),
  metadata: jsonObject.optional(),
  executionPrincipal: principalSchema,
  response: z
    .string()
    .optional()
    .describe('Present with the time fields if the state is `responded`.'),
  parts: z
    .array(partSchema)
    .readonly()
    .optional()
    .describe(
      'The parts of an answer that is more than text. The joined text parts are `response`. ' +
        'Lists leave them out.',
    ),
  partsTruncated: z
    .literal(true)
    .optional()
    .describe('Present if the agent emitted more parts than a message can have.'),
  responseTimeMs: count.optional().describe('The duration of the run that answered.'),
  respondedAt: at.optional(),
  usage: runUsageSchema.optional(),
  error: runErrorSchema.optional().describe('Present if the state is `failed` or `cancelled`.'),
  input: openInputSchema
    .optional()
    .describe('The open question. Present if the state is `input_required`.'),
  inputs: z
    .array(inputSchema)
    .optional()
    .describe('The questions that the message has asked, oldest first.'),
  attempt: count.describe('The number of runs that have started.'),
  createdAt: at,
})

/** A message of a search, with the newest deliveries of its events. */
export const foundMessageSchema = messageSchema
  .extend({
    deliveries: z
      .array(
        deliverySchema
          .pick({ id: true, webhookId: true, event: true, status: true, attemptCount: true })
          .meta({ id: 'FoundDelivery' }),
      )
      .describe(
        'The newest 100 deliveries of its events. `GET /v1/deliveries?messageId=` lists all.',
      ),
  })
  .meta({ id: 'FoundMessage' })
