export type Json = null | boolean | number | string | Json[] | JsonObject
export type JsonObject = { [key: string]: Json }

/** PostgreSQL refuses NUL and lone surrogates and SQLite alters them, so no text that has one is ever stored. */
const UNSTORABLE = /\0|\p{Surrogate}/u
export const isStorableText = (text: string): boolean => !UNSTORABLE.test(text)

/** Of at most `maxLength` UTF-16 units: a cut between the halves of a surrogate pair would leave text that may not be stored. */
export const beginningOf = (text: string, maxLength: number): string =>
  text.slice(0, maxLength).replace(/[\uD800-\uDBFF]$/, '')

export const isJsonObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/**
 * Why `value` cannot be stored as JSON and read back the same, or undefined when it can.
 * `maxDepth` counts nested objects and arrays: `{}` is 1 deep. The walk never goes deeper than that, so depth cannot cost more.
 */
export function jsonProblem(value: unknown, maxDepth: number): string | undefined {
  if (value === null || typeof value === 'boolean') return undefined
  if (typeof value === 'string')
    return isStorableText(value) ? undefined : 'holds NUL or a lone surrogate'
  if (typeof value === 'number')
    return Number.isFinite(value) ? undefined : 'holds a number out of range'
  if (typeof value !== 'object') return `holds a ${typeof value}, which JSON has not`
  if (maxDepth === 0) return 'is nested too deeply'
  for (const [key, inner] of Object.entries(value)) {
    const problem = isStorableText(key)
      ? jsonProblem(inner, maxDepth - 1)
      : 'has a key with NUL or a lone surrogate'
    if (problem !== undefined) return problem
  }
  return undefined
}

/** The same text for the same value, whatever the order of its keys: what a fingerprint is taken of. */
export function canonicalJson(value: Json): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`
  if (!isJsonObject(value)) return JSON.stringify(value)
  const members = Object.keys(value)
    .sort()
    .map((key) => `${JSON.stringify(key)}:${canonicalJson(value[key] ?? null)}`)
  return `{${members.join(',')}}`
}
