import { isJsonObject, isStorableText, jsonProblem, type Json } from '../values/json.js'
import { isUrl } from './schema-value-checks.js'

/** A change of the parts of an answer. A run emits part events beside text. */
export type PartEvent =
  | { readonly type: 'text-delta'; readonly text: string }
  | { readonly type: 'reasoning-delta'; readonly id: string; readonly text: string }
  | {
      readonly type: 'tool-input-start'
      readonly toolCallId: string
      readonly toolName: string
      readonly title?: string
    }
  | {
      readonly type: 'tool-input-delta'
      readonly toolCallId: string
      readonly inputTextDelta: string
    }
  | {
      readonly type: 'tool-input-available'
      readonly toolCallId: string
      readonly toolName: string
      readonly input: Json
      readonly title?: string
    }
  | {
      readonly type: 'tool-output-available'
      readonly toolCallId: string
      readonly output: Json
      /** A later output of the call replaces this one. */
      readonly preliminary?: boolean
    }
  | { readonly type: 'tool-output-error'; readonly toolCallId: string; readonly errorText: string }
  /** Replaces the data with the same name and id. */
  | { readonly type: 'data'; readonly name: string; readonly id?: string; readonly data: Json }
  | {
      readonly type: 'file'
      readonly url: string
      readonly mediaType: string
      readonly filename?: string
      readonly size?: number
    }
  | {
      readonly type: 'source-url'
      readonly sourceId: string
      readonly url: string
      readonly title?: string
    }
  | { readonly type: 'start-step'; readonly name?: string }
  | { readonly type: 'finish-step' }

/** A part of an answer as it is stored. */
export type Part =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'reasoning'; readonly text: string }
  | {
      readonly type: 'tool'
      readonly toolCallId: string
      readonly toolName: string
      readonly title?: string
      readonly state: 'input-streaming' | 'input-available' | 'output-available' | 'output-error'
      readonly input?: Json
      readonly output?: Json
      readonly errorText?: string
    }
  | { readonly type: 'step'; readonly name?: string }
  | Extract<PartEvent, { type: 'data' | 'file' | 'source-url' }>

/** The parts of an answer, in their order. The joined text parts are the response. */
export type AnswerParts = {
  readonly parts: readonly Part[]
  /** True if the run emitted parts beyond the bounds. */
  readonly isTruncated: boolean
}

/** The bounds of the stored parts of an answer. The text of the response does not count. */
export const PART_LIMITS = { parts: 1_000, partLength: 64 * 1024, totalLength: 1024 * 1024 }

/** The bound of ids, names and titles. */
const MAX_NAME_LENGTH = 1_024
const MAX_URL_LENGTH = 8 * 1024
export const FILE_URL = `an http: or https: URL of at most ${MAX_URL_LENGTH} characters`
const MAX_DEPTH = 64

/** Returns the reason why a value does not fit. */
type Rule = (value: Json | undefined) => string | undefined

const name: Rule = (value) => {
  if (typeof value !== 'string' || value === '') return 'is not a text'
  if (value.length > MAX_NAME_LENGTH) return `has more than ${MAX_NAME_LENGTH} characters`
  return isStorableText(value) ? undefined : 'holds NUL or a lone surrogate'
}
const anyText: Rule = (value) => (typeof value === 'string' ? undefined : 'is not a text')
/** A delta can begin or end with half of a surrogate pair. */
const delta: Rule = (value) => {
  const problem = anyText(value)
  return problem ?? ((value as string).includes('\0') ? 'holds NUL' : undefined)
}
const text: Rule = (value) => delta(value) ?? jsonProblem(value, 0)
const json: Rule = (value) => jsonProblem(value, MAX_DEPTH)
/** True for the URL of a file. Other schemes can run code, or contain the file itself. */
export const isFileUrl = (value: unknown): boolean =>
  typeof value === 'string' &&
  value.length <= MAX_URL_LENGTH &&
  isStorableText(value) &&
  /^https?:\/\/[^\s\p{Cc}]+$/iu.test(value) &&
  isUrl(value)
const url: Rule = (value) => (isFileUrl(value) ? undefined : `is not ${FILE_URL}`)
const size: Rule = (value) =>
  Number.isSafeInteger(value) && (value as number) >= 0 ? undefined : 'is not a count of bytes'
const flag: Rule = (value) => (typeof value === 'boolean' ? undefined : 'is not true or false')
const optional =
  (rule: Rule): Rule =>
  (value) =>
    value === undefined ? undefined : rule(value)

type FieldsOf<Type> = Omit<Extract<PartEvent, { type: Type }>, 'type'>
const FIELDS: {
  readonly [Type in PartEvent['type']]: { readonly [Field in keyof FieldsOf<Type>]-?: Rule }
} = {
  'text-delta': { text: anyText },
  'reasoning-delta': { id: name, text: delta },
  'tool-input-start': { toolCallId: name, toolName: name, title: optional(name) },
  'tool-input-delta': { toolCallId: name, inputTextDelta: delta },
  'tool-input-available': {
    toolCallId: name,
    toolName: name,
    input: json,
    title: optional(name),
  },
  'tool-output-available': { toolCallId: name, output: json, preliminary: optional(flag) },
  'tool-output-error': { toolCallId: name, errorText: text },
  data: { name, id: optional(name), data: json },
  file: { url, mediaType: name, filename: optional(name), size: optional(size) },
  'source-url': { sourceId: name, url, title: optional(name) },
  'start-step': { name: optional(name) },
  'finish-step': {},
}

/**
 * Returns a copy of a part event with its known fields, or the reason why the event is not valid.
 * A field that is null or undefined is absent, and null where JSON is required: a tool can return
 * nothing.
 */
export function parsePartEvent(given: unknown): PartEvent | string {
  const copy = plainJson(given)
  if (!isJsonObject(copy)) return 'is not an object of JSON'
  const { type } = copy
  if (typeof type !== 'string' || !Object.hasOwn(FIELDS, type)) return 'has an unknown type'
  const event: Record<string, unknown> = { type }
  for (const [field, rule] of Object.entries<Rule>(FIELDS[type as PartEvent['type']])) {
    const value = copy[field] ?? (rule === json ? null : undefined)
    const problem = rule(value)
    if (problem !== undefined) return `${type} has a ${field} that ${problem}`
    if (value !== undefined) event[field] = value
  }
  return event as PartEvent
}

/** Returns undefined for a value that JSON does not have. */
function plainJson(value: unknown): unknown {
  try {
    return JSON.parse(JSON.stringify(value)) as unknown
  } catch {
    return undefined
  }
}
