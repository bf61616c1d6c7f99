import type { JsonObject, Message } from '@org/agent-messaging-core'
import { errorOf, shownMessage } from '@org/agent-messaging-core/host'
import type { InputPart, Part } from '@org/agent-messaging-core/runtime'

/** The id that the client gave to a message, in the metadata of the message. */
export const CLIENT_ID = 'aiSdkMessageId'

export type UiPart = { readonly type: string; readonly [field: string]: unknown }
type UiMessage = {
  readonly id: string
  readonly role: 'user' | 'assistant'
  readonly metadata?: JsonObject
  readonly parts: readonly UiPart[]
}

/** Returns the id of the user's message. The answer has the id of the stored message. */
export function clientIdOf({ id, metadata = {} }: Message): string {
  const { [CLIENT_ID]: given } = metadata
  return typeof given === 'string' ? given : `user-${id}`
}

/** Returns the message of the user, and the answer if there is one. */
export function uiMessages(message: Message): UiMessage[] {
  const { [CLIENT_ID]: _, ...metadata } = message.metadata ?? {}
  const parts = [...questionsOf(message), ...outcomeOf(message)]
  return [
    {
      id: clientIdOf(message),
      role: 'user',
      ...(Object.keys(metadata).length > 0 && { metadata }),
      parts: [{ type: 'text', text: message.message }, ...(message.inputParts ?? []).map(uiPart)],
    },
    ...(parts.length > 0 ? [{ id: message.id, role: 'assistant', parts } as const] : []),
  ]
}

/** Returns the questions of a message, oldest first. The last one can lack its answer. */
export function questionsOf(message: Message): readonly UiPart[] {
  const { input, inputs = [] } = shownMessage(message)
  return inputs.map((one) => ({
    type: 'data-question',
    id: one.id,
    data: { ...one, ...(input?.id === one.id && { expiresAt: input.expiresAt }) },
  }))
}

function outcomeOf({ state, parts }: Message): readonly UiPart[] {
  if (state.kind === 'responded')
    return (parts?.parts ?? [{ type: 'text', text: state.response }]).map(uiPart)
  const error = errorOf(state)
  return error ? [{ type: 'data-error', data: error }] : []
}

/** Returns a part in the form of a `UIMessage`. Chunks of data, files and sources have it too. */
export function uiPart(part: Part | InputPart): UiPart {
  switch (part.type) {
    case 'text':
    case 'reasoning':
      return { ...part, state: 'done' }
    case 'tool':
      return { ...part, type: 'dynamic-tool', providerExecuted: true }
    case 'step':
      return { type: 'step-start' }
    case 'data': {
      const { name, ...data } = part
      return { ...data, type: `data-${name}` }
    }
    case 'file': {
      const { size: _, ...file } = part
      return file
    }
    case 'source-url':
      return part
  }
}
