import type { Json, JsonObject } from '@org/agent-messaging-core'
import { isJsonObject, type InputPart } from '@org/agent-messaging-core/runtime'
import { refuseField } from '@org/agent-messaging-http-kit'

/** A run that a client asks for. */
export type RunRequest = ReturnType<typeof readRun>
/** A part of the message with its path in the request. */
type PlacedPart = { readonly part: InputPart; readonly at: string }

/** The fields of a run that the agent gets as the data `ag-ui`. */
const DATA = ['state', 'tools', 'context', 'forwardedProps']
const TEXTS = ['threadId', 'runId', 'parentRunId', 'protocolVersion']
const LISTS = ['messages', 'resume', 'tools', 'context']
const INSTRUCTIONS = ['developer', 'system']
const ROLES = ['user', 'assistant', 'tool', 'activity', 'reasoning', ...INSTRUCTIONS]
const MEDIA = ['image', 'audio', 'video', 'document']

/** Reads the body of a run. */
export const readRun = (body: JsonObject) => ({
  ...readIds(body),
  user: readUser(body),
  resume: readResume(listOf(body, 'resume')),
})

export const readIds = (body: JsonObject) => ({
  threadId: readThread(body),
  runId: textOf(body, 'runId'),
})

/** Reads the thread of a body, whose other fields only need the right type. Null means absent. */
export function readThread(body: JsonObject): string {
  for (const [name, value] of Object.entries(body)) {
    if (![...TEXTS, ...LISTS, ...DATA].includes(name)) refuseField(name, 'is not a field of a run')
    if (value === null) continue
    if (TEXTS.includes(name) && typeof value !== 'string') refuseField(name, 'must be a text')
    if (LISTS.includes(name) && !Array.isArray(value)) refuseField(name, 'must be a list')
  }
  return textOf(body, 'threadId')
}

function textOf(body: JsonObject, name: string): string {
  const value = body[name]
  return typeof value === 'string' && value !== '' ? value : refuseField(name, 'is required')
}

function listOf(body: JsonObject, name: string): readonly Json[] {
  const value = body[name]
  return Array.isArray(value) ? value : []
}

/** Returns the last message of the user with the data of the run, or undefined if it was answered. */
function readUser(body: JsonObject) {
  const messages = listOf(body, 'messages').map((message, index) => {
    const at = `messages.${index}`
    const { role = null, id, content = null } = isJsonObject(message) ? message : {}
    if (!ROLES.includes(role as string))
      return refuseField(`${at}.role`, `must be one of: ${ROLES.join(', ')}`)
    return { at, role, id, content }
  })
  const last = messages.findLast(({ role }) => !INSTRUCTIONS.includes(role as string))
  if (last?.role !== 'user') return undefined
  const { at, id, content } = last
  const texts: string[] = []
  const parts: PlacedPart[] = []
  const list: readonly Json[] = Array.isArray(content) ? content : [{ type: 'text', text: content }]
  for (const [index, one] of list.entries()) {
    const here = `${at}.content.${index}`
    const { type = null, text, source } = isJsonObject(one) ? one : {}
    if (type === 'text' && typeof text === 'string') texts.push(text)
    else if (MEDIA.includes(type as string)) parts.push({ part: fileOf(source, here), at: here })
    else refuseField(here, `must be a text, or one of: ${MEDIA.join(', ')}`)
  }
  return { at, id, text: texts.join('\n'), parts: [...parts, ...dataOf(body)] }
}

/** Core checks the URL and the type. */
function fileOf(source: Json | undefined, at: string): InputPart {
  const { type, value, mimeType = 'application/octet-stream' } = isJsonObject(source) ? source : {}
  if (type !== 'url')
    refuseField(`${at}.source.type`, 'must be url: the service takes files by their URL only')
  return { type: 'file', url: value as string, mediaType: mimeType as string }
}

/** Clients send empty values by default. An agent that takes no data is not asked to take these. */
function dataOf(body: JsonObject): PlacedPart[] {
  const names = DATA.filter((name) => Object.keys(Object(body[name] ?? {})).length > 0)
  const data = Object.fromEntries(names.map((name) => [name, body[name] as Json]))
  const part = { type: 'data', name: 'ag-ui', data } as const
  return names.length === 0 ? [] : [{ part, at: names.join(', ') }]
}

function readResume([entry, ...others]: readonly Json[]) {
  if (entry === undefined) return undefined
  if (others.length > 0) refuseField('resume', 'must have one entry: an agent asks one question')
  const { interruptId: inputId, status, payload: value } = isJsonObject(entry) ? entry : {}
  if (typeof inputId !== 'string') return refuseField('resume.0.interruptId', 'must be a text')
  if (status !== 'resolved' && status !== 'cancelled')
    refuseField('resume.0.status', 'must be resolved or cancelled')
  return { inputId, value, isCancelled: status === 'cancelled' }
}
