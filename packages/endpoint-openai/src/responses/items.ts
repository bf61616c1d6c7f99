import type { Message } from '@org/agent-messaging-core'
import type { Part } from '@org/agent-messaging-core/runtime'
import { itemId } from '../ids.js'
import { questionOf } from '../question.js'

export type ToolPart = Extract<Part, { type: 'tool' }>
export type OutputItem = ReturnType<typeof messageItem | typeof reasoningItem | typeof callItem>

export const messageItem = (
  id: string,
  status: 'in_progress' | 'completed' | 'incomplete',
  text?: string,
) => ({
  type: 'message' as const,
  id,
  status,
  role: 'assistant' as const,
  content: text === undefined ? [] : [textPart(text)],
})

export const textPart = (text: string) => ({
  type: 'output_text' as const,
  text,
  annotations: [],
  logprobs: [],
})

export const reasoningItem = (
  id: string,
  status: 'in_progress' | 'completed' | 'incomplete',
  text?: string,
) => ({
  type: 'reasoning' as const,
  id,
  status,
  summary: text === undefined ? [] : [summaryPart(text)],
})

export const summaryPart = (text: string) => ({ type: 'summary_text' as const, text })

/**
 * The agent has executed the call. A client would execute a `function_call` itself. `agent` is the
 * name of the agent.
 */
export const callItem = (
  id: string,
  agent: string,
  { toolName: name, input, output = null, errorText }: ToolPart,
  status: 'in_progress' | 'completed' | 'incomplete' | 'failed',
) => ({
  type: 'mcp_call' as const,
  id,
  status,
  server_label: agent,
  name,
  arguments: input === undefined ? '' : JSON.stringify(input),
  output: output === null || typeof output === 'string' ? output : JSON.stringify(output),
  error: errorText ?? null,
  approval_request_id: null,
})

/** The status of a call that no later event changes. */
export const CALL_STATUSES = {
  'input-streaming': 'incomplete',
  'input-available': 'incomplete',
  'output-available': 'completed',
  'output-error': 'failed',
} as const satisfies Record<ToolPart['state'], string>

/**
 * Returns the answer with its reasoning and its tool calls, or the question that the agent waits
 * for. The text is one message, at the place of its first part. `first` is the index of the first
 * item in its stream, after items that became void.
 */
export function outputOf(message: Message, agent: string, first = 0): OutputItem[] {
  const { state, parts } = message
  const question = questionOf(message)
  if (question) return [messageItem(question.itemId, 'completed', question.text)]
  if (state.kind !== 'responded') return []
  const items: OutputItem[] = []
  const addText = (): void => {
    const id = textItemId(message, first, first + items.length)
    if (items.every(({ type }) => type !== 'message'))
      items.push(messageItem(id, 'completed', state.response))
  }
  for (const part of parts?.parts ?? []) {
    const suffix = `_${first + items.length}`
    if (part.type === 'text') addText()
    if (part.type === 'reasoning')
      items.push(reasoningItem(itemId(message, suffix, 'rs'), 'completed', part.text))
    if (part.type === 'tool')
      items.push(callItem(itemId(message, suffix, 'mcp'), agent, part, CALL_STATUSES[part.state]))
  }
  addText()
  return items
}

/** The id of the text of an answer. It has a suffix only after items that became void. */
export const textItemId = (message: Message, first: number, index: number): string =>
  itemId(message, first === 0 ? '' : `_${index}`)
