import { Validator, type OutputUnit } from '@cfworker/json-schema'
import { isJsonObject, jsonProblem, type Json, type JsonObject } from './json.js'

const MAX_LENGTH = 8 * 1024
const MAX_DEPTH = 16

/** References can repeat a check without end, and a pattern can take longer than any limit. */
const REFUSED = new Set(['$ref', '$dynamicRef', '$recursiveRef', 'pattern', 'patternProperties'])
/** Keywords whose members are schemas with free names. */
const NAMED = new Set(['properties', '$defs', 'definitions', 'dependentSchemas'])
/** Keywords whose values are not schemas. */
const VALUES = new Set(['const', 'enum', 'default', 'examples'])

/** Returns why this is not a JSON Schema for answers, or undefined. */
export function schemaProblem(schema: unknown): string | undefined {
  if (!isJsonObject(schema)) return 'has a schema that is not an object'
  const problem = jsonProblem(schema, MAX_DEPTH)
  if (problem !== undefined) return `has a schema that ${problem}`
  if (JSON.stringify(schema).length > MAX_LENGTH)
    return `has a schema with more than ${MAX_LENGTH} characters as JSON`
  const refused = refusedKeyword(schema)
  if (refused !== undefined) return `has a schema with ${refused}, which is not supported`
  try {
    check(schema, null)
    return undefined
  } catch {
    return 'has a schema that is not valid'
  }
}

function refusedKeyword(schema: Json): string | undefined {
  if (Array.isArray(schema)) return first(schema, refusedKeyword)
  if (!isJsonObject(schema)) return undefined
  return first(Object.entries(schema), ([keyword, value]) => {
    if (REFUSED.has(keyword)) return keyword
    if (VALUES.has(keyword)) return undefined
    return NAMED.has(keyword) && isJsonObject(value)
      ? first(Object.values(value), refusedKeyword)
      : refusedKeyword(value)
  })
}

function first<T>(list: readonly T[], find: (one: T) => string | undefined): string | undefined {
  for (const one of list) {
    const found = find(one)
    if (found !== undefined) return found
  }
  return undefined
}

/** Returns why the value does not match the schema, or undefined. */
export function valueProblem(schema: JsonObject, value: unknown): string | undefined {
  const { valid, errors } = check(schema, value)
  if (valid) return undefined
  // An invalid value has an error.
  const { instanceLocation, error } = errors.at(-1) as OutputUnit
  const place = instanceLocation.replace(/^#/, '')
  return `does not match the schema${place === '' ? '' : ` at ${place}`}: ${error}`
}

const check = (schema: JsonObject, value: unknown) =>
  new Validator(schema, '2020-12', true).validate(value)
