import type { CallToolResult } from '@modelcontextprotocol/server'
import type { Message } from '@org/agent-messaging-core'
import { errorOf, inputFacts } from '@org/agent-messaging-core/host'
import { openInput, toIso } from '@org/agent-messaging-core/storage'
import type { MessageOutput } from './schemas.js'

/** Returns the result of a tool that shows a message. Programs and models read the same JSON. */
export function messageResult(message: Message, note?: string): CallToolResult {
  const output = outputOf(message)
  return {
    content: [
      { type: 'text', text: JSON.stringify(output) },
      ...(note === undefined ? [] : [{ type: 'text' as const, text: note }]),
    ],
    structuredContent: output,
    ...(output.error && { isError: true }),
  }
}

function outputOf(message: Message): MessageOutput {
  const { id: messageId, agentId, sessionId, state } = message
  const error = errorOf(state)
  return {
    messageId,
    agentId,
    sessionId,
    state: state.kind,
    ...(state.kind === 'responded' && { response: state.response }),
    ...(error && { error: { code: error.code, message: error.message } }),
    ...questionOf(message),
  }
}

/** The one-time link is secret: only the webhook has it. */
function questionOf(message: Message): Pick<MessageOutput, 'input'> {
  const input = openInput(message)
  if (!input || message.state.kind !== 'input_required') return {}
  const { options, ...facts } = inputFacts(input)
  const expiresAt = toIso(message.state.deadlineAt)
  return { input: { ...facts, ...(options && { options: [...options] }), expiresAt } }
}
