import { integerRule, IS_REQUIRED, isUuid, textRule, type Rule } from './input-rules.js'
import { given } from './given.js'
import { isJsonObject } from './json.js'

/** Describes a setting of a resource: its legal values in words of JSON Schema, and texts. */
export type Setting = {
  /** The rules of an object's fields are code. */
  readonly type: 'boolean' | 'integer' | 'number' | 'string' | 'array' | 'object'
  readonly enum?: readonly string[]
  readonly items?: Setting
  readonly minimum?: number
  readonly maximum?: number
  readonly maxLength?: number
  /** For documents. `rule` is the check. */
  readonly pattern?: string
  readonly rule?: (value: unknown) => Rule
  readonly minItems?: number
  readonly maxItems?: number
  /** `date-time` is a number here: an `Instant`. Requests have it in ISO 8601. */
  readonly format?: 'uri' | 'uuid' | 'date-time'
  readonly unit?: 'milliseconds'
  readonly default?: string | number | boolean
  readonly required?: true
  /** Null in a change clears the setting. */
  readonly clearable?: true
  readonly description?: string
  /** The behavior without a value. */
  readonly unset?: string
  readonly examples?: readonly unknown[]
  /** Names the setting in forms and commands. They do not have a setting without a label. */
  readonly label?: string
}
export type Settings = Readonly<Record<string, Setting>>

type TypeOf<Value> = Value extends boolean
  ? 'boolean'
  : Value extends number
    ? 'integer' | 'number'
    : Value extends string
      ? 'string'
      : Value extends readonly unknown[]
        ? 'array'
        : 'object'

/** Describes every field of an input. A missing or a wrong field does not compile. */
export type SettingsOf<Input> = {
  readonly [K in keyof Input]-?: Setting & {
    readonly type: TypeOf<NonNullable<Input[K]>>
  } & (null extends Input[K]
      ? { readonly clearable: true }
      : undefined extends Input[K]
        ? object
        : { readonly required: true })
}

/** The described settings that an object has. */
export const settingsIn = <S extends Settings, T extends object>(settings: S, fields: T) =>
  Object.fromEntries(
    Object.entries(given(fields)).filter(([name]) => Object.hasOwn(settings, name)),
  ) as { readonly [K in keyof Pick<T, keyof T & keyof S>]: Exclude<T[K], undefined> }

/** The rules of the settings that are given. */
export const rulesOf = (
  settings: Settings,
  input: Readonly<Record<string, unknown>>,
): Record<string, Rule> =>
  Object.fromEntries(
    Object.entries(input).map(([name, value]) => [name, givenRule(settings[name], value)]),
  )

/**
 * The rules of a new object, which must have each required setting. `within`: the path of the
 * object that contains it, with a dot.
 */
export const newRulesOf = (
  settings: Settings,
  input: Readonly<Record<string, unknown>>,
  within = '',
): Record<string, Rule> =>
  Object.fromEntries(
    Object.entries(settings).map(([name, setting]) => {
      const rule = setting.required ? valueRule : givenRule
      return [within + name, rule(setting, input[name])]
    }),
  )

const givenRule = (setting: Setting | undefined, value: unknown): Rule =>
  setting === undefined || value === undefined || (value === null && setting.clearable)
    ? undefined
    : valueRule(setting, value)

/** Checks a value of any type. */
export function valueRule(setting: Setting, value: unknown): Rule {
  const { minimum = 0, maximum = Infinity, maxLength = Infinity } = setting
  if (value === undefined) return IS_REQUIRED
  if (setting.items) return listRule(setting, setting.items, value)
  if (setting.enum)
    return setting.enum.includes(value as string)
      ? undefined
      : `must be one of: ${setting.enum.join(', ')}`
  if (setting.rule) return setting.rule(value)
  if (setting.format === 'uuid')
    return typeof value === 'string' && isUuid(value) ? undefined : 'must be a UUID'
  if (setting.format === 'date-time')
    return Number.isSafeInteger(value) ? undefined : 'must be milliseconds since 1970'
  switch (setting.type) {
    case 'integer':
      return integerRule(value, minimum, maximum)
    case 'number':
      return typeof value === 'number' && value >= minimum && value <= maximum
        ? undefined
        : `must be a number from ${minimum} to ${maximum}`
    case 'string':
      return textRule(value, maxLength)
    case 'boolean':
      return typeof value === 'boolean' ? undefined : 'must be true or false'
    default:
      return isJsonObject(value) ? undefined : 'must be an object'
  }
}

function listRule({ minItems = 0, maxItems = Infinity }: Setting, items: Setting, value: unknown) {
  const fits =
    Array.isArray(value) &&
    value.length >= minItems &&
    value.length <= maxItems &&
    value.every((item) => valueRule(items, item) === undefined)
  if (fits) return undefined
  if (items.rule) return `must be a list. Each entry ${items.rule(null)}`
  if (items.format) return `must be a list of ${minItems} to ${maxItems} UUIDs`
  return items.enum
    ? `must name one or more of: ${items.enum.join(', ')}`
    : `must be an array of at most ${maxItems} whole numbers of milliseconds from ${items.minimum} to ${items.maximum}`
}
