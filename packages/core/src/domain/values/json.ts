export type Json = null | boolean | number | string | Json[] | JsonObject
export type JsonObject = { [key: string]: Json }

/**
 * PostgreSQL refuses NUL and lone surrogates, and SQLite alters them, so the service stores no
 * such text.
 */
const UNSTORABLE = /\0|\p{Surrogate}/u
export const isStorableText = (text: string): boolean => !UNSTORABLE.test(text)

/** Counts Unicode code points, as JSON Schema's `maxLength` does. */
export function isLonger(text: string, max: number): boolean {
  if (text.length <= max) return false
  if (text.length > 2 * max) return true
  let characters = 0
  for (const _ of text) if (++characters > max) return true
  return false
}

/** Returns the first `maxLength` UTF-16 units at most, and never half of a surrogate pair. */
export const beginningOf = (text: string, maxLength: number): string =>
  text.slice(0, maxLength).replace(/[\uD800-\uDBFF]$/, '')

export const isJsonObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/**
 * Returns the reason why `value` cannot be stored as JSON and read back unchanged, or undefined if
 * it can. `maxDepth` counts nested objects and arrays: `{}` has depth 1. The walk stops at that
 * depth.
 */
export function jsonProblem(value: unknown, maxDepth: number): string | undefined {
  if (value === null || typeof value === 'boolean') return undefined
  if (typeof value === 'string')
    return isStorableText(value) ? undefined : 'holds NUL or a lone surrogate'
  if (typeof value === 'number')
    return Number.isFinite(value) ? undefined : 'holds a number out of range'
  if (typeof value !== 'object') return `holds a ${typeof value}, which JSON has not`
  if (maxDepth === 0) return 'is nested too deeply'
  // Such as a Date, whose text is not the value that was checked.
  if ('toJSON' in value && typeof value.toJSON === 'function')
    return 'holds an object with toJSON, which JSON has not'
  for (const [key, inner] of Object.entries(value)) {
    const problem = isStorableText(key)
      ? jsonProblem(inner, maxDepth - 1)
      : 'has a key with NUL or a lone surrogate'
    if (problem !== undefined) return problem
  }
  return undefined
}

/** Returns the same text for equal values, in any order of their keys. Fingerprints use it. */
export function canonicalJson(value: Json): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`
  if (!isJsonObject(value)) return JSON.stringify(value)
  const members = Object.keys(value)
    .sort()
    .map((key) => `${JSON.stringify(key)}:${canonicalJson(value[key] ?? null)}`)
  return `{${members.join(',')}}`
}
