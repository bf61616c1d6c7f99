import type { Json, JsonObject } from '@org/agent-messaging-core'
import { isJsonObject, type InputPart } from '@org/agent-messaging-core/runtime'
import { refuseField, type ChatMessage } from '@org/agent-messaging-http-kit'
import { CLIENT_ID } from './ui-messages.js'

export type ChatRequest = {
  readonly chat: string
  readonly regenerates: boolean
  readonly sent: ChatMessage
  /** The fields of the request, by the names that core has for them. */
  readonly names: Readonly<Record<string, string>>
}

const MAX_ID_LENGTH = 255

/** Reads the newest message of a request. The session has the earlier ones. */
export function readRequest(body: JsonObject): ChatRequest {
  const { messages, trigger = 'submit-message', endUserId } = body
  const message = body['message'] ?? (Array.isArray(messages) ? messages.at(-1) : undefined)
  if (!isJsonObject(message))
    return refuseField('messages', 'must end with a message, or send it as message')
  if (message['role'] !== 'user')
    refuseField('messages', 'must end with a message of the user: the agent has its own tools')
  if (trigger !== 'submit-message' && trigger !== 'regenerate-message')
    refuseField('trigger', 'must be submit-message or regenerate-message')
  const id = textOf(message['id'], 'message.id')
  const metadata = message['metadata'] ?? {}
  if (!isJsonObject(metadata)) return refuseField('message.metadata', 'must be an object')
  const { places, ...content } = contentOf(message['parts'])
  return {
    chat: textOf(body['id'], 'id'),
    regenerates: trigger === 'regenerate-message',
    sent: {
      id,
      ...content,
      metadata: { ...metadata, [CLIENT_ID]: id },
      endUserId: endUserOf(endUserId),
    },
    names: { ...NAMES, ...places },
  }
}

const NAMES = {
  id: 'message.id',
  sessionId: 'id',
  message: 'message.parts',
  parts: 'message.parts',
  metadata: 'message.metadata',
  executionPrincipal: 'endUserId',
}

/** Reads the answer to a question. */
export function readAnswer({ inputId, value, endUserId }: JsonObject) {
  return { inputId: textOf(inputId, 'inputId'), value, endUserId: endUserOf(endUserId) }
}

const endUserOf = (value: Json | undefined): string | undefined =>
  value === undefined ? undefined : textOf(value, 'endUserId')

function textOf(value: Json | undefined, path: string): string {
  if (typeof value === 'string' && value !== '' && value.length <= MAX_ID_LENGTH) return value
  return refuseField(path, `must be a text of 1 to ${MAX_ID_LENGTH} characters`)
}

function contentOf(given: Json | undefined) {
  if (!Array.isArray(given)) return refuseField('message.parts', 'must be a list')
  const texts: string[] = []
  const parts: InputPart[] = []
  const places: Record<string, string> = {}
  for (const [index, part] of given.entries()) {
    const { type, text, ...fields } = isJsonObject(part) ? part : {}
    const at = `message.parts.${index}`
    if (type === 'text' && typeof text === 'string') texts.push(text)
    else {
      places[`parts.${parts.length}`] = at
      parts.push(partOf(type, fields) ?? refuseField(at, NOT_TAKEN))
    }
  }
  if (texts.join('') === '') refuseField('message.parts', 'must have a text')
  return { message: texts.join('\n'), parts, places }
}

const NOT_TAKEN = 'must be a text, a file with a URL, or data'

/** Core checks the fields. */
function partOf(type: Json | undefined, fields: JsonObject): InputPart | undefined {
  const { url, mediaType, filename, id, data = null } = fields
  if (type === 'file') return known({ type, url, mediaType, filename })
  if (typeof type !== 'string' || !type.startsWith('data-')) return undefined
  return known({ type: 'data', name: type.slice('data-'.length), id, data })
}

const known = (fields: object): InputPart =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as InputPart
