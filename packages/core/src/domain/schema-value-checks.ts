import { canonicalJson, isJsonObject, type Json, type JsonObject } from './json.js'
import { failure, type SchemaCheck, type SchemaWork } from './schema-work.js'
import { formatCheck } from './text-format.js'

type Check = SchemaCheck<Json>

/** Returns the checks of keywords that apply no other schema. */
export function valueChecks(schema: JsonObject): Check[] {
  const { type, enum: values, const: constant, format } = schema
  const checks: Check[] = []
  if (type !== undefined) checks.push(typeCheck(new Set(([type] as string[]).flat())))
  if (values !== undefined) checks.push(oneOfCheck(values as Json[], 'any of ', values))
  if (constant !== undefined) checks.push(oneOfCheck([constant], '', constant))
  const name = typeof format === 'string' ? format : ''
  const hasFormat = formatCheck(name)
  if (hasFormat)
    checks.push((value, work) =>
      typeof value !== 'string' || work.once(`format ${name}`, value, hasFormat)
        ? undefined
        : failure(() => `String does not match format "${name}".`),
    )
  return [...checks, ...boundChecks(schema)]
}

function typeOf(value: Json): string {
  if (value === null) return 'null'
  return Array.isArray(value) ? 'array' : typeof value
}

function typeCheck(types: ReadonlySet<string>): Check {
  const expected = [...types].join('", "')
  return (value) => {
    const type = typeOf(value)
    if (types.has(type) || (types.has('integer') && Number.isInteger(value))) return undefined
    return failure(() => `Instance type "${type}" is invalid. Expected "${expected}".`)
  }
}

/** Compares canonical texts, so the time does not depend on the number of the values. */
function oneOfCheck(values: readonly Json[], which: string, named: Json): Check {
  const texts = new Set(values.map(canonicalJson))
  const failed = failure(() => `Instance does not match ${which}${JSON.stringify(named)}.`)
  return (value, work) =>
    texts.has(work.once('canonical', value, canonicalJson)) ? undefined : failed
}

type Measure = (value: Json, work: SchemaWork) => number | undefined

const numberOf: Measure = (value) => (typeof value === 'number' ? value : undefined)
const lengthOf: Measure = (value, work) =>
  typeof value === 'string' ? work.once('length', value, countCharacters) : undefined

/** Characters are code points. */
function countCharacters(text: string): number {
  let characters = 0
  for (const _ of text) characters++
  return characters
}

const itemsOf: Measure = (value) => (Array.isArray(value) ? value.length : undefined)
const propertiesOf: Measure = (value, work) =>
  isJsonObject(value) ? work.once('keys', value, Object.keys).length : undefined

const atLeast = (size: number, limit: number): boolean => size >= limit
const atMost = (size: number, limit: number): boolean => size <= limit
/** True also for decimals such as 0.3 and 0.1, whose quotient is not exact. */
function isMultiple(value: number, divisor: number): boolean {
  const quotient = value / divisor
  return Math.abs(quotient - Math.round(quotient)) <= Math.abs(quotient) * Number.EPSILON
}

const BOUNDS: readonly (readonly [
  keyword: string,
  measure: Measure,
  fits: (size: number, limit: number) => boolean,
  says: string,
])[] = [
  ['minimum', numberOf, atLeast, 'is less than'],
  ['maximum', numberOf, atMost, 'is greater than'],
  ['exclusiveMinimum', numberOf, (size, limit) => size > limit, 'is not greater than'],
  ['exclusiveMaximum', numberOf, (size, limit) => size < limit, 'is not less than'],
  ['multipleOf', numberOf, isMultiple, 'is not a multiple of'],
  ['minLength', lengthOf, atLeast, 'characters are less than'],
  ['maxLength', lengthOf, atMost, 'characters are more than'],
  ['minItems', itemsOf, atLeast, 'items are less than'],
  ['maxItems', itemsOf, atMost, 'items are more than'],
  ['minProperties', propertiesOf, atLeast, 'properties are less than'],
  ['maxProperties', propertiesOf, atMost, 'properties are more than'],
]

function boundChecks(schema: JsonObject): Check[] {
  return BOUNDS.flatMap(([keyword, measure, fits, says]) => {
    const limit = schema[keyword]
    if (typeof limit !== 'number') return []
    const check: Check = (value, work) => {
      const size = measure(value, work)
      if (size === undefined || fits(size, limit)) return undefined
      return failure(() => `${size} ${says} ${limit}.`)
    }
    return [check]
  })
}
