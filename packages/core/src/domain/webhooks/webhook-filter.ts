import { textRule, type Rule } from '../values/input-rules.js'
import { isJsonObject, type Json, type JsonObject } from '../values/json.js'

/**
 * Limits a webhook to some of its events. An event must match every given field. An event without
 * a field does not match a filter on that field.
 */
export type WebhookFilter = {
  /** Only this agent's events. */
  readonly agentId?: string
  /** Only events of sessions whose id starts with this text. */
  readonly sessionIdPrefix?: string
  /** Conditions on the metadata of the message. */
  readonly metadata?: readonly MetadataCondition[]
}

/**
 * A condition on one value of the metadata. `path` names nested keys with dots, such as
 * `customer.plan`. With `exists: false` the metadata must not have the path.
 */
export type MetadataCondition =
  | { readonly path: string; readonly equals: JsonScalar }
  | { readonly path: string; readonly exists: boolean }

export type JsonScalar = string | number | boolean | null

/** The part of an event that a filter reads. */
export type FilteredEvent = {
  readonly agentId?: string
  readonly sessionId?: string
  readonly metadata?: JsonObject
  /** The data of the body. Not stored with a field of its own. */
  readonly data?: object
}

/** Returns true if the webhook with this filter gets the event. */
export function matchesFilter(filter: WebhookFilter | undefined, event: FilteredEvent): boolean {
  if (filter === undefined) return true
  const { agentId, sessionIdPrefix, metadata = [] } = filter
  return (
    (agentId === undefined || agentId === event.agentId) &&
    (sessionIdPrefix === undefined || event.sessionId?.startsWith(sessionIdPrefix) === true) &&
    metadata.every((condition) => holds(condition, event.metadata))
  )
}

function holds(condition: MetadataCondition, metadata: JsonObject | undefined): boolean {
  if (metadata === undefined) return false
  const value = valueAt(metadata, condition.path)
  return 'equals' in condition
    ? value === condition.equals
    : (value !== undefined) === condition.exists
}

function valueAt(metadata: JsonObject, path: string): Json | undefined {
  let value: Json | undefined = metadata
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
  const { agentId, sessionIdPrefix, metadata } = filter
  const isEmpty = agentId === undefined && sessionIdPrefix === undefined && metadata === undefined
  return {
    filter: isEmpty ? 'must have agentId, sessionIdPrefix or metadata' : undefined,
    'filter.sessionIdPrefix':
      sessionIdPrefix === undefined
        ? undefined
        : textRule(sessionIdPrefix, filterLimits.sessionIdPrefixLength),
    'filter.metadata': metadata === undefined ? undefined : countRule(metadata),
    ...Object.fromEntries((metadata ?? []).flatMap(conditionRules)),
  }
}

const countRule = ({ length }: readonly MetadataCondition[]): Rule =>
  length > 0 && length <= filterLimits.conditions
    ? undefined
    : `must have 1 to ${filterLimits.conditions} conditions`

const conditionRules = (condition: MetadataCondition, at: number): [string, Rule][] => [
  [`filter.metadata.${at}.path`, pathRule(condition.path)],
  [`filter.metadata.${at}`, testRule(condition)],
]

function pathRule(path: string): Rule {
  const { pathLength, pathDepth } = filterLimits
  const problem = textRule(path, pathLength)
  if (problem !== undefined) return problem
  const keys = path.split('.')
  if (keys.includes('')) return 'must name keys with one dot between them'
  return keys.length > pathDepth ? `must name at most ${pathDepth} keys` : undefined
}

function testRule(condition: MetadataCondition): Rule {
  if ('equals' in condition === 'exists' in condition) return 'must have either equals or exists'
  if ('exists' in condition)
    return typeof condition.exists === 'boolean' ? undefined : 'must have exists: true or false'
  return isScalar(condition.equals)
    ? undefined
    : `must have a string of at most ${filterLimits.equalsLength} characters, a number, true, false or null in equals`
}

const isScalar = (value: unknown): boolean =>
  value === '' ||
  value === null ||
  typeof value === 'boolean' ||
  (typeof value === 'number' && Number.isFinite(value)) ||
  textRule(value, filterLimits.equalsLength) === undefined
