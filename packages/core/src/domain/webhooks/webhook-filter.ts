import { textRule, type Rule } from '../values/input-rules.js'
import { isJsonObject, type Json, type JsonObject } from '../values/json.js'

/**
 * Limits a webhook to some of its events. An event must match every given field. An event without
 * a field does not match a filter on that field.
 */
export type WebhookFilter = {
  /** Only this agent's events. */
  readonly agentId?: string | undefined
  /** Only events of sessions whose id starts with this text. */
  readonly sessionIdPrefix?: string
  /** Conditions on the metadata of the message, or of the published event. */
  readonly metadata?: readonly FilterCondition[]
  /** Conditions on the `data` of the event. */
  readonly data?: readonly FilterCondition[]
}

/**
 * A condition on one value of an object. `path` names nested keys with dots, such as
 * `customer.plan`. With `exists: false` the object must not have the path. `prefix` begins a
 * string. A number from `min` to `max` is in the range: one of them can be absent.
 */
export type FilterCondition =
  | { readonly path: string; readonly equals: JsonScalar }
  | { readonly path: string; readonly exists: boolean }
  | { readonly path: string; readonly prefix: string }
  | { readonly path: string; readonly min?: number; readonly max?: number }

export type JsonScalar = string | number | boolean | null

/** The part of an event that a filter reads. */
export type FilteredEvent = {
  readonly agentId?: string | undefined
  readonly sessionId?: string | undefined
  readonly metadata?: JsonObject | undefined
  /** The `data` of the body, as an object. It is not stored. */
  readonly data?: object
}

/** Returns true if the webhook with this filter gets the event. */
export const matchesFilter = (filter: WebhookFilter | undefined, event: FilteredEvent): boolean =>
  filter === undefined || unmetIn(filter, event) === undefined

/** Returns the field of the filter that the event does not match, with its condition in a list. */
function unmetIn(
  filter: WebhookFilter,
  event: FilteredEvent,
): readonly [keyof WebhookFilter, FilterCondition?] | undefined {
  const { agentId, sessionIdPrefix, metadata = [], data = [] } = filter
  if (agentId !== undefined && agentId !== event.agentId) return ['agentId']
  if (sessionIdPrefix !== undefined && event.sessionId?.startsWith(sessionIdPrefix) !== true)
    return ['sessionIdPrefix']
  const inMetadata = metadata.find((condition) => !holds(condition, event.metadata))
  if (inMetadata) return ['metadata', inMetadata]
  const inData = data.find((condition) => !holds(condition, event.data as JsonObject | undefined))
  return inData && ['data', inData]
}

/** Returns the first condition that the event does not match, in words. Undefined if it matches. */
export function unmetCondition(
  filter: WebhookFilter | undefined,
  event: FilteredEvent,
): string | undefined {
  const [field, condition] = (filter && unmetIn(filter, event)) ?? []
  if (field === undefined) return undefined
  return condition
    ? `${field}: ${lineOf(condition)}`
    : `${field} = ${JSON.stringify(filter?.[field])}`
}

/** A path that needs no JSON around it. */
const PLAIN_PATH = /^[^\s={][^\s=]*$/

/** Returns the line of a condition in a form. */
export function lineOf(condition: FilterCondition): string {
  const { path } = condition
  if (!PLAIN_PATH.test(path)) return JSON.stringify(condition)
  if ('equals' in condition) return `${path} = ${JSON.stringify(condition.equals)}`
  if ('exists' in condition) return `${path} ${condition.exists ? 'exists' : 'missing'}`
  if ('prefix' in condition) return `${path} starts with ${JSON.stringify(condition.prefix)}`
  const { min, max } = condition
  return `${path}${min === undefined ? '' : ` from ${min}`}${max === undefined ? '' : ` to ${max}`}`
}

function holds(condition: FilterCondition, object: JsonObject | undefined): boolean {
  if (object === undefined) return false
  const value = valueAt(object, condition.path)
  if ('equals' in condition) return value === condition.equals
  if ('exists' in condition) return (value !== undefined) === condition.exists
  if ('prefix' in condition) return typeof value === 'string' && value.startsWith(condition.prefix)
  const { min = -Infinity, max = Infinity } = condition
  return typeof value === 'number' && value >= min && value <= max
}

function valueAt(object: JsonObject, path: string): Json | undefined {
  let value: Json | undefined = object
  for (const key of path.split('.'))
    value =
      value !== undefined && isJsonObject(value) && Object.hasOwn(value, key)
        ? value[key]
        : undefined
  return value
}

export const filterLimits = {
  sessionIdPrefixLength: 256,
  conditions: 10,
  pathLength: 200,
  pathDepth: 10,
  equalsLength: 1_000,
} as const

/** Checks everything except whether the agent exists. Returns a rule per field. */
export function filterRules(filter: WebhookFilter): Readonly<Record<string, Rule>> {
  const { agentId, sessionIdPrefix, metadata, data } = filter
  const fields = [agentId, sessionIdPrefix, metadata, data]
  const isEmpty = fields.every((field) => field === undefined)
  return {
    filter: isEmpty ? 'must have agentId, sessionIdPrefix, metadata or data' : undefined,
    'filter.sessionIdPrefix':
      sessionIdPrefix === undefined
        ? undefined
        : textRule(sessionIdPrefix, filterLimits.sessionIdPrefixLength),
    ...listRules('filter.metadata', metadata),
    ...listRules('filter.data', data),
  }
}

function listRules(list: string, given?: readonly FilterCondition[]): Record<string, Rule> {
  if (given === undefined) return {}
  const fits = given.length > 0 && given.length <= filterLimits.conditions
  const rules = given.flatMap((condition, at): [string, Rule][] => [
    [`${list}.${at}.path`, pathRule(condition.path)],
    [`${list}.${at}`, testRule(condition)],
  ])
  return {
    [list]: fits ? undefined : `must have 1 to ${filterLimits.conditions} conditions`,
    ...Object.fromEntries(rules),
  }
}

function pathRule(path: string): Rule {
  const { pathLength, pathDepth } = filterLimits
  const problem = textRule(path, pathLength)
  if (problem !== undefined) return problem
  const keys = path.split('.')
  if (keys.includes('')) return 'must name keys with one dot between them'
  return keys.length > pathDepth ? `must name at most ${pathDepth} keys` : undefined
}

/** The tests of a condition. Those of a list make one test together. */
const TESTS = [['equals'], ['exists'], ['prefix'], ['min', 'max']] as const

function testRule(condition: FilterCondition): Rule {
  const tests = TESTS.filter((names) => names.some((name) => name in condition))
  if (tests.length !== 1) return 'must have one of equals, exists, prefix, or min and max'
  if ('equals' in condition)
    return isScalar(condition.equals)
      ? undefined
      : `must have a string of at most ${filterLimits.equalsLength} characters, a number, true, false or null in equals`
  if ('exists' in condition)
    return typeof condition.exists === 'boolean' ? undefined : 'must have exists: true or false'
  if ('prefix' in condition)
    return textRule(condition.prefix, filterLimits.equalsLength) === undefined
      ? undefined
      : `must have a string of 1 to ${filterLimits.equalsLength} characters in prefix`
  const { max, min = max } = condition
  return isRange(min, max ?? min)
    ? undefined
    : 'must have numbers in min and max, and a min that is not above max'
}

const isRange = (min: unknown, max: unknown): boolean =>
  Number.isFinite(min) && Number.isFinite(max) && Number(min) <= Number(max)

const isScalar = (value: unknown): boolean =>
  value === '' ||
  value === null ||
  typeof value === 'boolean' ||
  (typeof value === 'number' && Number.isFinite(value)) ||
  textRule(value, filterLimits.equalsLength) === undefined
