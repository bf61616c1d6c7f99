import type { Json, JsonObject, Message } from '@org/agent-messaging-core'
import type { InputFile } from '@org/agent-messaging-core/host'
import { isJsonObject, type Part } from '@org/agent-messaging-core/runtime'

type ToolPart = Extract<Part, { type: 'tool' }>

/** The key of the metadata that has the client's id of a message. */
const KEPT = 'ag-ui'
const MEDIA = /^(image|audio|video)\//

/** Returns one server-sent event. */
export const sse = (type: string, fields: object): string =>
  `data: ${JSON.stringify({ type, ...fields })}\n\n`

/** The id of a text, a reasoning or a tool call. A stream and a later snapshot have the same. */
export const entityId = ({ id }: Message, place: number): string => `${id}:${place}`
export const resultId = (callId: string): string => `${callId}:result`

/** Returns the output of a call as the text of its result. */
export const outputText = (output: Json): string =>
  typeof output === 'string' ? output : JSON.stringify(output)

/** Returns the metadata of a message whose sender gave it an id. */
export const keptId = (messageId: Json | undefined): JsonObject | undefined =>
  typeof messageId === 'string' ? { [KEPT]: { messageId } } : undefined

/** The client's id of the user's message, or one of the service if the client gave none. */
export function userIdOf(message: Message): string {
  const kept = message.metadata?.[KEPT]
  const { messageId } = isJsonObject(kept) ? kept : {}
  return typeof messageId === 'string' ? messageId : ownId(message)
}

const ownId = ({ id }: Message): string => `${id}:user`

/** Returns the event with the messages of a thread, oldest first. */
export function messagesEvent(thread: readonly Message[]): string {
  const used = new Set<string>()
  const messages = thread.flatMap((message) => {
    const id = userIdOf(message)
    // A client can send a message of the user again in another run.
    const user = {
      id: used.has(id) ? ownId(message) : id,
      role: 'user',
      content: contentOf(message),
    }
    used.add(id)
    return [user, ...answerOf(message)]
  })
  return sse('MESSAGES_SNAPSHOT', { messages })
}

/** Returns the events with what is in no message: states, other data, files and sources. */
export const otherEvents = (thread: readonly Message[]): string =>
  thread.flatMap((message) => partsOf(message).map((part) => otherEvent(message, part))).join('')

/** Data named `state` is the state of the page. Other data has its own name. */
export function otherEvent({ id: messageId }: Message, part: Part): string {
  if (part.type === 'data' && part.name === 'state')
    return sse('STATE_SNAPSHOT', { snapshot: part.data })
  const name = part.type === 'data' ? part.name : part.type
  return 'data' in part || 'url' in part
    ? sse('CUSTOM', { name, value: { messageId, ...part } })
    : ''
}

/** Counts what has an id as a stream does. */
function answerOf(message: Message): object[] {
  let place = 0
  return partsOf(message).flatMap((part): object[] => {
    if (part.type === 'tool') return toolMessages(part, entityId(message, place++))
    if (part.type !== 'text' && part.type !== 'reasoning') return []
    const role = part.type === 'text' ? 'assistant' : part.type
    return [{ id: entityId(message, place++), role, content: part.text }]
  })
}

function contentOf({ message: text, inputParts = [] }: Message) {
  const files = inputParts.filter((part) => part.type === 'file')
  return files.length === 0 ? text : [{ type: 'text', text }, ...files.map(mediaOf)]
}

const mediaOf = ({ url: value, mediaType: mimeType }: InputFile) => ({
  type: MEDIA.exec(mimeType)?.[1] ?? 'document',
  source: { type: 'url', value, mimeType },
})

function partsOf({ state, parts }: Message): readonly Part[] {
  if (state.kind !== 'responded') return []
  return parts?.parts ?? [{ type: 'text', text: state.response }]
}

function toolMessages(part: ToolPart, id: string): object[] {
  const { toolName: name, input = {}, output = '', errorText: error, title } = part
  const called = { name, arguments: JSON.stringify(input) }
  const call = { id, type: 'function', function: called, metadata: { title } }
  const content = error ?? outputText(output)
  return [
    { id, role: 'assistant', toolCalls: [call] },
    { id: resultId(id), role: 'tool', toolCallId: id, content, error },
  ]
}
