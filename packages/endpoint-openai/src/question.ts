import type { Message } from '@org/agent-messaging-core'
import { openInput } from '@org/agent-messaging-core/storage'
import { itemId } from './ids.js'

/**
 * Returns the question that a message waits for, or undefined. `text` is for people, and `details`
 * for programs. The one-time link is secret: only the webhook has it.
 */
export function questionOf(message: Message) {
  const { agentId, id, state, inputs = [] } = message
  const input = openInput(message)
  if (!input || state.kind !== 'input_required') return undefined
  const { question, options = [], schema } = input
  const path = `/v1/agents/${agentId}/messages/${id}/input`
  return {
    itemId: itemId(message, `_q${inputs.length}`),
    text: [question, ...options.map((option) => `- ${option}`)].join('\n'),
    how: `Answer with POST ${path} and {"inputId":"${input.id}","value":…}`,
    details: {
      reason: 'input_required',
      input: {
        id: input.id,
        question,
        ...(options.length > 0 && { options }),
        ...(schema && { schema }),
        expires_at: Math.floor(state.deadlineAt / 1_000),
        answer_path: path,
      },
    },
  }
}
