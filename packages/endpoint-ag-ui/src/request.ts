import type { Json, JsonObject } from '@org/agent-messaging-core'
import type { InputData, InputFile } from '@org/agent-messaging-core/host'
import { isJsonObject } from '@org/agent-messaging-core/runtime'
import { RequestRefusal } from '@org/agent-messaging-http-kit'

/** A run that a client asks for. */
export type RunRequest = {
  readonly threadId: string
  readonly runId: string
  /** The last message of the user. Undefined: there is none. */
  readonly user: UserMessage | undefined
  /** What the agent gets as the data `ag-ui`. */
  readonly data: JsonObject
  /** The answer to a question. Undefined: the run sends the message. */
  readonly resume: ResumeEntry | undefined
}

export type UserMessage = {
  readonly id: string | undefined
  readonly text: string
  readonly files: readonly PlacedFile[]
  /** The path of the message in the request. */
  readonly at: string
  /** True if only instructions follow. An answer after it means that the message was sent before. */
  readonly isLast: boolean
}

/** A file with its path in the request. */
type PlacedFile = { readonly file: InputFile; readonly at: string }

export type ResumeEntry = {
  readonly interruptId: string
  readonly isCancelled: boolean
  readonly payload: Json
}

/** The fields of a run. Null means absent. */
const FIELDS: Readonly<Record<string, 'text' | 'list' | 'any'>> = {
  threadId: 'text',
  runId: 'text',
  parentRunId: 'text',
  protocolVersion: 'text',
  messages: 'list',
  resume: 'list',
  state: 'any',
  tools: 'list',
  context: 'list',
  forwardedProps: 'any',
}
const DATA = ['state', 'tools', 'context', 'forwardedProps']

const INSTRUCTIONS = ['developer', 'system']
const ROLES = [...INSTRUCTIONS, 'user', 'assistant', 'tool', 'activity', 'reasoning']
const MEDIA = ['image', 'audio', 'video', 'document']

/** Refuses the field at a path. */
export function refuseField(path: string, message: string): never {
  throw new RequestRefusal({ kind: 'invalid', issues: [{ path, message }] })
}

/** Reads the body of a run. */
export function readRun(body: JsonObject): RunRequest {
  return {
    ...readIds(body),
    user: readUser((body['messages'] ?? []) as Json[]),
    data: Object.fromEntries(DATA.flatMap((name) => dataOf(name, body[name]))),
    resume: readResume((body['resume'] ?? []) as Json[]),
  }
}

export const readIds = (body: JsonObject): Pick<RunRequest, 'threadId' | 'runId'> => ({
  ...readThread(body),
  runId: textOf(body, 'runId'),
})

/** Reads the thread of a body, whose other fields only need the right type. */
export function readThread(body: JsonObject): Pick<RunRequest, 'threadId'> {
  for (const [name, value] of Object.entries(body)) {
    const type = Object.hasOwn(FIELDS, name) ? FIELDS[name] : undefined
    if (type === undefined) refuseField(name, 'is not a field of a run')
    if (value === null) continue
    if (type === 'text' && typeof value !== 'string') refuseField(name, 'must be a text')
    if (type === 'list' && !Array.isArray(value)) refuseField(name, 'must be a list')
  }
  return { threadId: textOf(body, 'threadId') }
}

function textOf(body: JsonObject, name: string): string {
  const value = body[name] ?? ''
  return typeof value === 'string' && value !== '' ? value : refuseField(name, 'is required')
}

/** Clients send empty values by default. An agent that takes no data is not asked to take these. */
function dataOf(name: string, value: Json | undefined): [string, Json][] {
  const isEmpty = value == null || (typeof value === 'object' && Object.keys(value).length === 0)
  return isEmpty ? [] : [[name, value]]
}

function readUser(messages: readonly Json[]): UserMessage | undefined {
  const read = messages.map((message, index) => {
    if (!isJsonObject(message)) return refuseField(`messages.${index}`, 'must be an object')
    if (!ROLES.includes(message['role'] as string))
      return refuseField(`messages.${index}.role`, `must be one of: ${ROLES.join(', ')}`)
    return message
  })
  const at = read.findLastIndex(({ role }) => role === 'user')
  const found = read[at]
  if (!found) return undefined
  const { id } = found
  const last = read.findLast(({ role }) => !INSTRUCTIONS.includes(role as string))
  return {
    ...contentOf(found['content'], `messages.${at}.content`),
    id: typeof id === 'string' && id !== '' ? id : undefined,
    at: `messages.${at}`,
    isLast: found === last,
  }
}

function contentOf(content: unknown, at: string): Pick<UserMessage, 'text' | 'files'> {
  if (typeof content === 'string') return { text: content, files: [] }
  if (!Array.isArray(content)) return refuseField(at, 'must be a text or a list of parts')
  const texts: string[] = []
  const files: PlacedFile[] = []
  for (const [index, part] of content.entries()) {
    const here = `${at}.${index}`
    if (!isJsonObject(part)) return refuseField(here, 'must be an object')
    const { type, text } = part
    if (MEDIA.includes(type as string)) files.push({ file: fileOf(part, here), at: here })
    else if (type !== 'text')
      refuseField(`${here}.type`, `must be one of: ${['text', ...MEDIA].join(', ')}`)
    else if (typeof text === 'string') texts.push(text)
    else refuseField(`${here}.text`, 'must be a text')
  }
  return { text: texts.join('\n'), files }
}

/** Core checks the URL and the type. */
function fileOf({ source }: JsonObject, at: string): InputFile {
  const { type, value, mimeType } = isJsonObject(source) ? source : {}
  if (type !== 'url')
    refuseField(`${at}.source.type`, 'must be url: the service takes files by their URL only')
  return {
    type: 'file',
    url: value as string,
    mediaType: (mimeType ?? 'application/octet-stream') as string,
  }
}

function readResume([entry, ...others]: readonly Json[]): ResumeEntry | undefined {
  if (entry === undefined) return undefined
  if (others.length > 0) refuseField('resume', 'must have one entry: an agent asks one question')
  const { interruptId, status, payload = null } = isJsonObject(entry) ? entry : {}
  if (typeof interruptId !== 'string') refuseField('resume.0.interruptId', 'must be a text')
  if (status !== 'resolved' && status !== 'cancelled')
    refuseField('resume.0.status', 'must be resolved or cancelled')
  return { interruptId, isCancelled: status === 'cancelled', payload }
}

/** The data of a run as a part of its message, or none. */
export const dataPartOf = ({ data }: RunRequest): InputData[] =>
  Object.keys(data).length === 0 ? [] : [{ type: 'data', name: 'ag-ui', data }]
