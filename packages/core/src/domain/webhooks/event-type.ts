import { checkWithinWork, schemaProblem, WIDE_LIMITS } from '../messages/answer-schema.js'
import type { Instant } from '../values/instant.js'
import type { Issue, Rule } from '../values/input-rules.js'
import { isJsonObject, jsonProblem, type JsonObject } from '../values/json.js'
import type { SettingsOf } from '../values/setting.js'
import { EVENT_NAMES } from './event.js'
import { eventSummaries, sampleEvent } from './event-samples.js'

/** What people say of an event type. A put without a field removes it. */
export type EventTypeSettings = {
  readonly description?: string | null | undefined
  /** Types with the same group stand together. */
  readonly group?: string | null | undefined
  /** JSON Schema of `data`. */
  readonly schema?: JsonObject | null | undefined
  /** A `data` that matches the schema. */
  readonly example?: JsonObject | null | undefined
  readonly deprecated?: boolean | undefined
  readonly visible?: boolean | undefined
}

const MAX_LENGTH = 64 * 1024
const MAX_DEPTH = 16

export const eventTypeSettings = {
  description: {
    type: 'string',
    maxLength: 1_000,
    clearable: true,
    label: 'what the event says',
  },
  group: {
    type: 'string',
    maxLength: 100,
    clearable: true,
    description: 'Types with the same group stand together.',
    label: 'group in which the type stands',
  },
  schema: {
    type: 'object',
    rule: schemaRule,
    clearable: true,
    description:
      'JSON Schema of `data`, at most 64 KiB, with the keywords of the schemas of questions.',
    examples: [{ type: 'object', required: ['orderId'] }],
    label: 'JSON Schema of the data',
  },
  example: {
    type: 'object',
    rule: exampleRule,
    clearable: true,
    description: 'A `data` that matches the schema, at most 64 KiB.',
    examples: [{ orderId: 'o-17' }],
    label: 'data that matches the schema',
  },
  deprecated: {
    type: 'boolean',
    default: false,
    description: 'Marks the type. Its events work as before.',
    label: 'mark the type as one that receivers should leave',
  },
  visible: {
    type: 'boolean',
    default: false,
    description: 'Shows the type to customers in the portal.',
    label: 'show the type to customers in the portal',
  },
} as const satisfies SettingsOf<EventTypeSettings>

function schemaRule(schema: unknown): Rule {
  return schemaProblem(schema, WIDE_LIMITS)
}

function exampleRule(example: unknown): Rule {
  if (!isJsonObject(example)) return 'must be an object'
  const problem = jsonProblem(example, MAX_DEPTH)
  if (problem !== undefined) return problem
  return JSON.stringify(example).length > MAX_LENGTH
    ? `must have at most ${MAX_LENGTH} characters as JSON`
    : undefined
}

/** The project id of the types of the installation. It sorts before all projects. */
export const INSTALLATION = '00000000-0000-0000-0000-000000000000'

export const DEFINERS = ['service', 'installation', 'project'] as const

/** A type of events as the catalogue has it. */
export type EventType = {
  readonly name: string
  /** An installation's type is there for all projects. */
  readonly definedBy: (typeof DEFINERS)[number]
  readonly description?: string
  readonly group?: string
  readonly schema?: JsonObject
  readonly example?: JsonObject
  readonly deprecated: boolean
  readonly visible: boolean
  /** Absent for the types of the service. */
  readonly createdAt?: Instant
  readonly updatedAt?: Instant
}

/** A type in a list, without what can be large. */
export type ListedEventType = Omit<EventType, 'schema' | 'example'> & {
  readonly hasExample: boolean
}

/** The events of the service itself. */
export const ownEventTypes: readonly EventType[] = EVENT_NAMES.map((name) => ({
  name,
  definedBy: 'service',
  description: eventSummaries[name],
  example: sampleEvent(name).data as object as JsonObject,
  deprecated: false,
  visible: true,
}))

export const listedType = ({ schema: _, example, ...type }: EventType): ListedEventType => ({
  ...type,
  hasExample: example !== undefined,
})

/** An event to publish. */
export type TypedData = { readonly type: string; readonly data: JsonObject }

/** Returns what is wrong with the data of an event. `path` is the place of the data. */
export const dataIssue = (
  schema: JsonObject | undefined,
  data: JsonObject,
  path: string,
): Issue | undefined => dataCheck(schema)(data, path)

function dataCheck(schema: JsonObject | undefined) {
  const check = schema && checkWithinWork(schema)
  return (data: JsonObject, path: string, steps?: number): Issue | undefined => {
    const { problem, at = [] } = check?.(data, steps) ?? {}
    return problem === undefined ? undefined : { path: [path, ...at].join('.'), message: problem }
  }
}

/**
 * Returns what is wrong with events where only the types of the catalogue are allowed. `within`
 * gives the path of an event in its request, with a dot. The events of a request share the steps.
 */
export function typeIssues(
  events: readonly TypedData[],
  types: readonly EventType[],
  within: (index: number) => string,
): Issue[] {
  // A large schema takes longer to read than an event to check.
  const checks = new Map(types.map(({ name, schema }) => [name, dataCheck(schema)]))
  const steps = Math.floor(WIDE_LIMITS.steps / events.length)
  return events.flatMap(({ type, data }, index) => {
    const check = checks.get(type)
    const issue = check
      ? check(data, `${within(index)}data`, steps)
      : { path: `${within(index)}type`, message: 'is not in the catalogue of event types' }
    return issue ?? []
  })
}
