import type { Rule } from '../values/input-rules.js'
import { isJsonObject, jsonProblem, type Json } from '../values/json.js'
import { unknownFields } from '../values/nearest-name.js'
import { newRulesOf, type Settings, type SettingsOf } from '../values/setting.js'
import { FILE_URL, isFileUrl } from './part.js'

/** A part of a message beside its text. */
export type InputPart = InputData | InputFile

export type InputData = {
  readonly type: 'data'
  /** What the data is, for the agent. */
  readonly name: string
  readonly id?: string | undefined
  readonly data: Json
}

/** A file by reference. The service never fetches it. */
export type InputFile = {
  readonly type: 'file'
  /** `https:` or `http:`. */
  readonly url: string
  readonly mediaType: string
  readonly filename?: string | undefined
  /** In bytes, as the sender says. */
  readonly size?: number | undefined
}

export const MAX_INPUT_PARTS = 20
/** Of all parts of a message as JSON. */
const MAX_INPUT_PARTS_LENGTH = 64 * 1024
const MAX_DATA_DEPTH = 16

const data = {
  name: { type: 'string', maxLength: 100, required: true, description: 'What the data is.' },
  id: { type: 'string', maxLength: 100, clearable: true },
  data: { type: 'object', rule: dataRule, required: true },
} as const satisfies Settings

const file = {
  url: {
    type: 'string',
    rule: urlRule,
    required: true,
    description: '`https:` or `http:`. The service never fetches it.',
  },
  mediaType: {
    type: 'string',
    rule: mediaTypeRule,
    required: true,
    examples: ['image/png'],
  },
  filename: { type: 'string', maxLength: 255, clearable: true },
  size: {
    type: 'integer',
    minimum: 0,
    maximum: Number.MAX_SAFE_INTEGER,
    clearable: true,
    description: 'In bytes, as the sender says.',
  },
} as const satisfies SettingsOf<Omit<InputFile, 'type'>>

export const inputPartSettings = { data, file }

function dataRule(value: unknown): Rule {
  return jsonProblem(value, MAX_DATA_DEPTH)
}

function urlRule(url: unknown): Rule {
  return isFileUrl(url) ? undefined : `must be ${FILE_URL}`
}

const MEDIA_TYPE = /^[\w!#$&^.+-]{1,127}\/[\w!#$&^.+-]{1,127}(?:;[\x20-\x7e]{0,127})?$/

function mediaTypeRule(type: unknown): Rule {
  const fits = typeof type === 'string' && MEDIA_TYPE.test(type)
  return fits ? undefined : 'must be a media type, such as image/png'
}

/** The rules of the parts of a send, each with the path of its field. */
export function inputPartRules(parts: unknown): Record<string, Rule> {
  if (parts === undefined) return {}
  if (!Array.isArray(parts) || parts.length > MAX_INPUT_PARTS)
    return { parts: `must be a list of at most ${MAX_INPUT_PARTS} parts` }
  const rules: Record<string, Rule> = {}
  for (const [index, part] of parts.entries())
    Object.assign(rules, partRules(part, `parts.${index}`))
  if (Object.values(rules).some((rule) => rule !== undefined)) return rules
  const { length } = JSON.stringify(parts.map(inputPartOf))
  return length > MAX_INPUT_PARTS_LENGTH
    ? { parts: `must have at most ${MAX_INPUT_PARTS_LENGTH} characters as JSON` }
    : {}
}

function partRules(part: unknown, path: string): Record<string, Rule> {
  if (!isJsonObject(part)) return { [path]: 'must be an object' }
  const { type, ...fields } = part
  if (type !== 'data' && type !== 'file') return { [`${path}.type`]: 'must be one of: data, file' }
  const settings = inputPartSettings[type]
  const known = Object.keys(settings)
  const unknown = Object.keys(fields).filter((name) => !known.includes(name))
  return unknown.length > 0
    ? { [path]: unknownFields(unknown, ['type', ...known]) }
    : newRulesOf(settings, fields, `${path}.`)
}

/** Returns the part without the optional fields that are not given, or null. */
export const inputPartOf = (part: InputPart): InputPart =>
  Object.fromEntries(
    Object.entries(part).filter(([name, value]) => name === 'data' || value != null),
  ) as InputPart

/** For kinds of agents that take text only: refuses every part. */
export const acceptsText = (): string => 'is not supported: the agent takes text only'
