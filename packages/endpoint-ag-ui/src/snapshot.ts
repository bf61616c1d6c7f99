import type { JsonObject, Message } from '@org/agent-messaging-core'
import { isJsonObject, type Part } from '@org/agent-messaging-core/runtime'
import type { InputFile } from '@org/agent-messaging-core/host'
import { contentOf, entityId, isState, otherEvent, resultId, sse } from './wire.js'

/** The key of the metadata that has the client's id of a message. */
const KEPT = 'ag-ui'

/** Returns the metadata of a message whose sender gave it an id. */
export const keptId = (messageId: string | undefined): JsonObject | undefined =>
  messageId === undefined ? undefined : { [KEPT]: { messageId } }

/** The client's id of the user's message, or one of the service if the client gave none. */
export function userIdOf(message: Message): string {
  const kept = message.metadata?.[KEPT]
  const { messageId } = isJsonObject(kept) ? kept : {}
  return typeof messageId === 'string' ? messageId : ownUserId(message)
}

const ownUserId = ({ id }: Message): string => `${id}:user`

/** Returns the event with the messages of a thread, oldest first. */
export function messagesEvent(thread: readonly Message[]): string {
  const used = new Set<string>()
  const messages = thread.flatMap((message) => {
    const id = userIdOf(message)
    const user = userMessage(message, used.has(id) ? ownUserId(message) : id)
    used.add(id)
    return [user, ...answerMessages(message)]
  })
  return sse('MESSAGES_SNAPSHOT', { messages })
}

/** Returns the events with what is in no message: the last state, other data, files and sources. */
export function otherEvents(thread: readonly Message[]): string {
  const parts = thread.flatMap((message) =>
    partsOf(message).map((part) => ({ id: message.id, part })),
  )
  const state = parts.findLast(({ part }) => isState(part))
  return parts
    .filter((one) => one === state || !isState(one.part))
    .map(({ id, part }) => ('data' in part || 'url' in part ? otherEvent(id, part) : ''))
    .join('')
}

function userMessage(message: Message, id: string) {
  const { message: text, inputParts = [] } = message
  const files = inputParts.filter((part) => part.type === 'file')
  const content =
    files.length === 0 ? text : [{ type: 'text', text }, ...files.map((file) => mediaOf(file))]
  return { id, role: 'user', content }
}

const MEDIA = /^(image|audio|video)\//

const mediaOf = ({ url, mediaType }: InputFile) => ({
  type: MEDIA.exec(mediaType)?.[1] ?? 'document',
  source: { type: 'url', value: url, mimeType: mediaType },
})

function partsOf({ state, parts }: Message): readonly Part[] {
  if (state.kind !== 'responded') return []
  return parts?.parts ?? [{ type: 'text', text: state.response }]
}

/** Counts the entities as a stream does. */
function answerMessages(message: Message): object[] {
  let place = 0
  return partsOf(message).flatMap((part): object[] => {
    if (part.type === 'text')
      return [{ id: entityId(message, place++), role: 'assistant', content: part.text }]
    if (part.type === 'reasoning')
      return [{ id: entityId(message, place++), role: 'reasoning', content: part.text }]
    return part.type === 'tool' ? toolMessages(part, entityId(message, place++)) : []
  })
}

function toolMessages(part: Extract<Part, { type: 'tool' }>, id: string): object[] {
  const { toolName, input, title, output = '', errorText } = part
  const call = {
    id,
    type: 'function',
    function: { name: toolName, arguments: JSON.stringify(input ?? {}) },
    ...(title !== undefined && { metadata: { title } }),
  }
  return [
    { id, role: 'assistant', toolCalls: [call] },
    {
      id: resultId(id),
      role: 'tool',
      toolCallId: id,
      content: errorText ?? contentOf(output),
      ...(errorText !== undefined && { error: errorText }),
    },
  ]
}
