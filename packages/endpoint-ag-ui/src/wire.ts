import type { Json, Message } from '@org/agent-messaging-core'
import type { Part } from '@org/agent-messaging-core/runtime'
import { openInput } from '@org/agent-messaging-core/storage'

/** The version of AG-UI that the endpoint speaks. */
export const PROTOCOL_VERSION = '1.0'

/** Returns one server-sent event. */
export const sse = (type: string, fields: object): string =>
  `data: ${JSON.stringify({ type, ...fields })}\n\n`

/** A part that is no message of AG-UI. */
type OtherPart = Extract<Part, { type: 'data' | 'file' | 'source-url' }>

export const isState = (part: Part): boolean => part.type === 'data' && part.name === 'state'

/** Data named `state` is the state of the page. Other data has its own name. */
export function otherEvent(messageId: string, part: OtherPart): string {
  if (part.type === 'data' && isState(part)) return sse('STATE_SNAPSHOT', { snapshot: part.data })
  const name = part.type === 'data' ? part.name : part.type
  return sse('CUSTOM', { name, value: { messageId, ...part } })
}

/** Ids are the same in a stream and in a later snapshot. */
export const entityId = ({ id }: Message, place: number): string => `${id}:${place}`
export const resultId = (callId: string): string => `${callId}:result`

/** The content of a tool result is text. */
export const contentOf = (output: Json): string =>
  typeof output === 'string' ? output : JSON.stringify(output)

/** Returns the question that a message waits for, or undefined. */
export function interruptOf(message: Message) {
  const input = openInput(message)
  const { id: messageId, state } = message
  if (!input || state.kind !== 'input_required') return undefined
  const { id, question, options, schema } = input
  return {
    id,
    reason: 'input_required',
    message: question,
    responseSchema: schema ?? { type: 'string', ...(options && { enum: options }) },
    expiresAt: new Date(state.deadlineAt).toISOString(),
    metadata: { messageId },
  }
}
