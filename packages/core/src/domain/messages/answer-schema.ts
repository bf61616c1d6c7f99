import { isJsonObject, jsonProblem, type Json, type JsonObject } from '../values/json.js'
import { schemaCheck } from './schema-checks.js'
import { SchemaWork, TooManySteps } from './schema-work.js'

const MAX_DEPTH = 16

/** Limits of a check: schemas in the schema, values in the checked value, and steps. */
export type CheckLimits = {
  /** Of the schema as JSON. */
  readonly schemaLength: number
  readonly schemaNodes: number
  readonly values: number
  /** A step is one keyword, or one schema, for one value or key. */
  readonly steps: number
}

export const ANSWER_LIMITS: CheckLimits = {
  schemaLength: 8 * 1024,
  schemaNodes: 500,
  values: 1_000,
  steps: 1_000_000,
}

/** The limits of a schema of a sender or a host. `values` is the most for a schema of one node. */
export const WIDE_LIMITS: CheckLimits = {
  schemaLength: 64 * 1024,
  schemaNodes: 5_000,
  values: 500_000,
  steps: 1_000_000,
}

/** Returns why this is not a JSON Schema for answers, or undefined. */
export function schemaProblem(schema: unknown, limits: CheckLimits): string | undefined {
  if (!isJsonObject(schema)) return 'has a schema that is not an object'
  const problem = jsonProblem(schema, MAX_DEPTH)
  if (problem !== undefined) return `has a schema that ${problem}`
  if (JSON.stringify(schema).length > limits.schemaLength)
    return `has a schema with more than ${limits.schemaLength} characters as JSON`
  const { wrong } = shapeOf(schema, limits.schemaNodes)
  return wrong === undefined ? undefined : `has a schema ${wrong}`
}

/** Returns why the value has too many values to be checked, or undefined. */
export const sizeProblem = (value: unknown, { values }: CheckLimits): string | undefined =>
  hasMoreValues(value, values) ? `must have at most ${values} values` : undefined

/** Counts objects, lists and all that they contain. The walk ends at the limit. */
function hasMoreValues(value: unknown, limit: number): boolean {
  const found = [value]
  for (const one of found) {
    if (typeof one !== 'object' || one === null) continue
    for (const key in one) {
      if (found.length >= limit) return true
      found.push((one as JsonObject)[key])
    }
  }
  return false
}

/** Returns why the value does not match the schema, or undefined. */
export const valueProblem = (
  schema: JsonObject,
  value: Json,
  limits: CheckLimits,
): string | undefined => checkValue(schema, value, limits).problem

type Checked = {
  readonly problem: string | undefined
  /** The keys from the value to the part that does not match. */
  readonly at?: readonly string[] | undefined
  readonly steps: number
}

/** Checks a value, and counts the steps. The schema can be older than today's limits. */
export const checkValue = (
  schema: JsonObject,
  value: Json,
  { schemaNodes, steps }: CheckLimits,
): Checked => checkOf(schema, shapeOf(schema, schemaNodes))(value, steps)

function checkOf(schema: JsonObject, { wrong }: Shape): (value: Json, steps: number) => Checked {
  if (wrong !== undefined) {
    const problem = `cannot be checked, because the question has a schema ${wrong}`
    return () => ({ problem, steps: 0 })
  }
  const check = schemaCheck(schema)
  return (value, steps) => {
    const work = new SchemaWork(steps)
    try {
      const failed = check(value, work, undefined)
      const place = failed?.at.map((key) => `/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`)
      const where = place?.length ? ` at ${place.join('')}` : ''
      const problem = failed && `does not match the schema${where}: ${failed.says()}`
      return { problem, at: failed?.at, steps: work.steps }
    } catch (error) {
      if (!(error instanceof TooManySteps)) throw error
      return { problem: `needs more than ${steps} steps to be checked`, steps: work.steps }
    }
  }
}

/**
 * Returns the check of values within `WIDE_LIMITS`. It looks at most at each value once for each
 * schema node.
 */
export function checkWithinWork(schema: JsonObject) {
  const shape = shapeOf(schema, WIDE_LIMITS.schemaNodes)
  const limits = { ...WIDE_LIMITS, values: Math.floor(WIDE_LIMITS.values / shape.nodes) }
  const check = checkOf(schema, shape)
  return (value: Json, steps = WIDE_LIMITS.steps): Pick<Checked, 'problem' | 'at'> => {
    const problem = sizeProblem(value, limits)
    return problem === undefined ? check(value, steps) : { problem }
  }
}

/** References can repeat a check without end, and a pattern can take longer than any limit. */
const REFUSED = words(
  '$ref $dynamicRef $recursiveRef pattern patternProperties',
  'additionalItems dependencies', // Of drafts before 2020-12.
)
const TYPES = new Set(['null', 'boolean', 'number', 'integer', 'string', 'array', 'object'])

const isName = (value: Json): boolean => typeof value === 'string'
const isNames = (value: Json): boolean => Array.isArray(value) && value.every(isName)
const isType = (value: Json): boolean => typeof value === 'string' && TYPES.has(value)
const isNumber = (value: Json): boolean => typeof value === 'number'
const isCount = (value: Json): boolean => Number.isSafeInteger(value) && Number(value) >= 0

/** The keywords whose values are one schema, a list of schemas, and schemas with free names. */
const ONE = words(
  'not if then else items contains additionalProperties propertyNames',
  'unevaluatedItems unevaluatedProperties',
)
const LIST = words('allOf anyOf oneOf prefixItems')
const NAMED = words('properties $defs definitions dependentSchemas')

const VALUES: Readonly<Record<string, (value: Json) => boolean>> = {
  type: (value) => isType(value) || (Array.isArray(value) && value.every(isType)),
  enum: Array.isArray,
  required: isNames,
  dependentRequired: (value) => isJsonObject(value) && Object.values(value).every(isNames),
  uniqueItems: (value) => typeof value === 'boolean',
  multipleOf: (value) => Number(value) > 0 && isNumber(value),
  ...all(words('minimum maximum exclusiveMinimum exclusiveMaximum'), isNumber),
  ...all(words('minLength maxLength minItems maxItems minContains maxContains'), isCount),
  ...all(words('minProperties maxProperties'), isCount),
}

function words(...lists: string[]): ReadonlySet<string> {
  return new Set(lists.flatMap((list) => list.split(' ')))
}

function all(
  keywords: ReadonlySet<string>,
  fits: (value: Json) => boolean,
): Record<string, (value: Json) => boolean> {
  return Object.fromEntries([...keywords].map((keyword) => [keyword, fits]))
}

/** Returns the schemas that the value of a keyword has. */
function schemasIn(keyword: string, value: Json): readonly Json[] | 'invalid' {
  if (ONE.has(keyword)) return [value]
  if (LIST.has(keyword)) return Array.isArray(value) ? value : 'invalid'
  if (NAMED.has(keyword)) return isJsonObject(value) ? Object.values(value) : 'invalid'
  return []
}

type Shape = { readonly nodes: number; readonly wrong?: string }

/**
 * Counts the schemas in a schema. `wrong` tells why this is not a schema with at most `maxNodes`
 * of them. The walk ends there.
 */
function shapeOf(schema: Json, maxNodes: number): Shape {
  const found: Json[] = [schema]
  const no = (wrong: string): Shape => ({ nodes: found.length, wrong })
  for (const node of found) {
    if (found.length > maxNodes) return no(`with more than ${maxNodes} schema nodes`)
    if (typeof node === 'boolean') continue
    if (!isJsonObject(node)) return no(INVALID)
    for (const [keyword, value] of Object.entries(node)) {
      if (REFUSED.has(keyword)) return no(`with ${keyword}, which is not supported`)
      const fits = Object.hasOwn(VALUES, keyword) ? VALUES[keyword] : undefined
      const schemas = schemasIn(keyword, value)
      if (schemas === 'invalid' || fits?.(value) === false) return no(INVALID)
      found.push(...schemas)
    }
  }
  return { nodes: found.length }
}

const INVALID = 'that is not valid'
