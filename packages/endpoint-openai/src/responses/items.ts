import type { Message } from '@org/agent-messaging-core'
import type { Part } from '@org/agent-messaging-core/runtime'
import { itemId } from '../ids.js'
import { questionOf } from '../question.js'

export type ToolPart = Extract<Part, { type: 'tool' }>
type TextItem = {
  readonly prefix: 'msg' | 'rs'
  /** The names of its part and of its text in events, with their place in the item. */
  readonly part: string
  readonly text: string
  readonly place: object
  readonly partOf: (text: string) => object
  readonly fieldsOf: (parts: object[]) => object
}

/** The items with text. */
export const TEXT_ITEMS = {
  message: {
    prefix: 'msg',
    part: 'content_part',
    text: 'output_text',
    place: { content_index: 0 },
    partOf: (text) => ({ type: 'output_text', text, annotations: [], logprobs: [] }),
    fieldsOf: (content) => ({ role: 'assistant', content }),
  },
  reasoning: {
    prefix: 'rs',
    part: 'reasoning_summary_part',
    text: 'reasoning_summary_text',
    place: { summary_index: 0 },
    partOf: (text) => ({ type: 'summary_text', text }),
    fieldsOf: (summary) => ({ summary }),
  },
} as const satisfies Record<string, TextItem>
export type TextKind = keyof typeof TEXT_ITEMS

/** An item of the output of a response. */
type OutputItem = { readonly type: string; readonly id: string; readonly status: string }

export function textItem(type: TextKind, id: string, status: string, text?: string): OutputItem {
  const { partOf, fieldsOf } = TEXT_ITEMS[type]
  return { type, id, status, ...fieldsOf(text === undefined ? [] : [partOf(text)]) }
}

/**
 * The agent has executed the call. A client would execute a `function_call` itself. `agent` is the
 * name of the agent.
 */
export const callItem = (
  id: string,
  agent: string,
  { toolName: name, state, input, output = null, errorText }: ToolPart,
  status: string = CALL_STATUSES[state],
): OutputItem & Record<string, unknown> => ({
  type: 'mcp_call',
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
const CALL_STATUSES = {
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
  if (question) return [textItem('message', question.itemId, 'completed', question.text)]
  if (state.kind !== 'responded') return []
  const items: OutputItem[] = []
  const answer = { type: 'text', text: state.response } as const
  for (const part of [...(parts?.parts ?? []), answer]) {
    const index = first + items.length
    if (part.type === 'tool') items.push(callItem(itemId(message, `_${index}`, 'mcp'), agent, part))
    const type = part.type === 'text' ? 'message' : part.type
    if (type !== 'message' && type !== 'reasoning') continue
    if (type === 'message' && items.some((item) => item.type === type)) continue
    const text = part.type === 'reasoning' ? part.text : answer.text
    items.push(textItem(type, textItemId(message, type, first, index), 'completed', text))
  }
  return items
}

/** The id of the text of an answer has a suffix only after items that became void. */
export const textItemId = (
  message: Message,
  type: TextKind,
  first: number,
  index: number,
): string =>
  itemId(message, type === 'message' && first === 0 ? '' : `_${index}`, TEXT_ITEMS[type].prefix)
