import { AGENT_STATES, MESSAGE_STATES } from '@org/agent-messaging-core/host'
import { z } from 'zod'

const agent = z.string().describe('The name or the id of the agent, as list_agents shows it.')
const messageId = z.string().describe('The messageId of an earlier result.')
const endUserId = z
  .string()
  .optional()
  .describe('The id of the end user that the agent runs for. Some agents need it.')
const wait = z
  .boolean()
  .optional()
  .describe('false: returns at once. Default: waits for the answer for a bounded time.')
const jsonObject = z.record(z.string(), z.unknown())

export const listAgentsInput = z.object({
  cursor: z.string().optional().describe('The nextCursor of the page before.'),
})

export const sendMessageInput = z.object({
  agent,
  message: z.string().describe('The text for the agent.'),
  sessionId: z
    .string()
    .optional()
    .describe(
      'The conversation. Send the sessionId of an earlier result to continue it. ' +
        'Without it, a new conversation starts.',
    ),
  endUserId,
  metadata: jsonObject
    .optional()
    .describe('Data that is stored with the message and returned in webhooks.'),
  idempotencyKey: z
    .string()
    .optional()
    .describe('A unique text. Repeated calls with the same key send the message once.'),
  wait,
})

export const getMessageInput = z.object({ agent, messageId, endUserId, wait })

export const cancelMessageInput = z.object({ agent, messageId })

export const answerInputInput = z.object({
  agent,
  messageId,
  inputId: z.string().describe('The id of the question: `input.id` of the message.'),
  value: z
    .unknown()
    .describe('The answer: one of the options, a value of the schema, or else a text.'),
  endUserId: endUserId.describe('The end user who answers. Some questions need it.'),
  wait,
})

export const publishEventInput = z.object({
  type: z.string().describe('Words with dots between them, such as order.paid.'),
  data: jsonObject.describe('The content of the event.'),
  id: z.string().optional().describe('A unique text. The same event is published once for it.'),
  sessionId: z.string().optional().describe('Orders the events of one subject.'),
})

export type ListAgentsInput = z.infer<typeof listAgentsInput>
export type SendMessageInput = z.infer<typeof sendMessageInput>
export type GetMessageInput = z.infer<typeof getMessageInput>
export type CancelMessageInput = z.infer<typeof cancelMessageInput>
export type AnswerInputInput = z.infer<typeof answerInputInput>

export const agentsOutput = z.object({
  agents: z.array(
    z.object({
      name: z.string(),
      id: z.string(),
      state: z.enum(AGENT_STATES),
      description: z.string().optional(),
    }),
  ),
  nextCursor: z.string().nullable().describe('null on the last page.'),
})

export const messageOutput = z.object({
  messageId: z.string(),
  agentId: z.string(),
  sessionId: z.string(),
  state: z
    .enum(MESSAGE_STATES)
    .describe(
      'queued, running, deferred: call get_message later. input_required: the agent asks. ' +
        'The other states are final.',
    ),
  response: z.string().optional().describe('The answer. Present if the state is responded.'),
  error: z
    .object({ code: z.string(), message: z.string() })
    .optional()
    .describe('Present if the state is failed or cancelled.'),
  input: z
    .object({
      id: z.string(),
      question: z.string(),
      options: z.array(z.string()).optional().describe('The answer must be one of these texts.'),
      schema: jsonObject.optional().describe('JSON Schema of the answer.'),
      answerBy: z.string().optional().describe('execution_principal: only the end user answers.'),
      expiresAt: z.string(),
    })
    .optional()
    .describe('The question of the agent. Answer it with answer_input.'),
})

export const publishedOutput = z.object({
  id: z.string().describe('The id of the event.'),
  replayed: z.boolean().describe('true: an earlier call published it.'),
})

export type AgentsOutput = z.infer<typeof agentsOutput>
export type MessageOutput = z.infer<typeof messageOutput>
