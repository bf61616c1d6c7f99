import { err, type Err } from 'neverthrow'
import { isLonger, isStorableText } from './json.js'

/** A field that breaks a rule. `path` is the field's name, with dots. */
export type Issue = { readonly path: string; readonly message: string }
export type Invalid = { readonly kind: 'invalid'; readonly issues: readonly Issue[] }

export const invalid = (path: string, message: string): Err<never, Invalid> =>
  err({ kind: 'invalid', issues: [{ path, message }] })

/** The end of a sentence for the caller, or undefined if the value is valid. */
export type Rule = string | undefined

/** Returns the broken rules, each with its field's name, or undefined if there is none. */
export function broken(rules: Readonly<Record<string, Rule>>): Err<never, Invalid> | undefined {
  const issues: Issue[] = []
  for (const [path, message] of Object.entries(rules))
    if (message !== undefined) issues.push({ path, message })
  return issues.length === 0 ? undefined : err({ kind: 'invalid', issues })
}

/** The rules of fields that a caller without types can omit. Each field must be given. */
export const required = (fields: Readonly<Record<string, unknown>>): Record<string, Rule> =>
  Object.fromEntries(
    Object.entries(fields).map(([path, value]) => [
      path,
      value === undefined ? IS_REQUIRED : undefined,
    ]),
  )

export const IS_REQUIRED = 'is required'

/** The error of a zod schema: `is required` if the value is missing, else `problem`. */
export const orMissing = (problem: string) => ({
  error: ({ input }: { readonly input: unknown }): string =>
    input === undefined ? IS_REQUIRED : problem,
})

/** Accepts non-empty, storable text of at most `max` characters. */
export function textRule(value: unknown, max: number): Rule {
  if (value === undefined) return IS_REQUIRED
  if (typeof value !== 'string' || value === '') return 'must be a non-empty string'
  if (isLonger(value, max)) return `must have at most ${max} characters`
  return isStorableText(value) ? undefined : 'must not contain NUL or lone surrogates'
}

/** Accepts a whole number from `min` to `max`. */
export function integerRule(value: unknown, min: number, max: number): Rule {
  const fits = typeof value === 'number' && Number.isInteger(value) && value >= min && value <= max
  return fits ? undefined : `must be a whole number from ${min} to ${max}`
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i
export const isUuid = (text: string): boolean => UUID.test(text)

const ID_END = /^[0-9a-f-]{8,36}$/
/** Returns the end of an id, which pages show as `…365e0e54`. */
export function idEndIn(text: string): string | undefined {
  const end = text.replace(/^…/, '').toLowerCase()
  return ID_END.test(end) ? end : undefined
}
