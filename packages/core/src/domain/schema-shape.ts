import { isJsonObject, type Json } from './json.js'

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

/**
 * Returns why this is not a schema with at most `maxNodes` schemas in it, or undefined. The walk
 * ends at that number.
 */
export function shapeProblem(schema: Json, maxNodes: number): string | undefined {
  const found: Json[] = [schema]
  for (const node of found) {
    if (found.length > maxNodes) return `with more than ${maxNodes} schema nodes`
    if (typeof node === 'boolean') continue
    if (!isJsonObject(node)) return INVALID
    for (const [keyword, value] of Object.entries(node)) {
      if (REFUSED.has(keyword)) return `with ${keyword}, which is not supported`
      const fits = Object.hasOwn(VALUES, keyword) ? VALUES[keyword] : undefined
      const schemas = schemasIn(keyword, value)
      if (schemas === 'invalid' || fits?.(value) === false) return INVALID
      found.push(...schemas)
    }
  }
  return undefined
}

const INVALID = 'that is not valid'
