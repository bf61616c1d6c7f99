import type { Agent } from './agent.js'
import { canonicalJson, type Json, type JsonObject } from '../values/json.js'

/** The settings that code can declare, each under the name that a warning shows. */
export type AgentFields = Readonly<Record<string, Json>>

/**
 * Keyed digests of the values that code last set, by field. A field of a known agent without a
 * digest was last set to be absent. An empty digest fits no value.
 */
export type DeclaredDigests = Readonly<Record<string, string>>

export type DeclaredAgent = Pick<
  Agent,
  'defaultExecutionPrincipal' | 'concurrency' | 'maxAttempts' | 'maxQueued' | 'a2a'
> & {
  readonly runtime: {
    readonly kind: string
    readonly options: JsonObject
    readonly secrets: JsonObject
  }
}

/** Lists each setting. The service makes the signing secret, so code cannot declare it. */
export function fieldsOfAgent(agent: DeclaredAgent): AgentFields {
  const { kind, options, secrets } = agent.runtime
  const { signingSecret: _, ...given } = secrets
  const runtime = Object.entries({ ...options, ...given })
  const fields = {
    defaultExecutionPrincipal: agent.defaultExecutionPrincipal,
    concurrency: agent.concurrency,
    maxAttempts: agent.maxAttempts,
    maxQueued: agent.maxQueued,
    a2a: agent.a2a,
    [KIND]: kind,
    ...Object.fromEntries(runtime.map(([name, value]) => [`runtime.${name}`, value])),
  }
  return JSON.parse(JSON.stringify(fields)) as AgentFields // without absent values
}

export type Decision = 'keep' | 'write' | 'warn'

/**
 * Decides on one field of an agent that code declares. The code's value replaces a value that
 * code has set. The value of a person stays, with a warning if the code has changed since.
 */
export function decideDeclared(
  stored: Json,
  declared: Json,
  isLastSet: (value: Json) => boolean,
): Decision {
  if (isSameJson(stored, declared) || isLastSet(declared)) return 'keep'
  return isLastSet(stored) ? 'write' : 'warn'
}

/** Decides on every field. The options of another kind of runtime follow the kind. */
export function decideFields(
  stored: AgentFields,
  declared: AgentFields,
  isLastSet: (field: string, value: Json) => boolean,
): [field: string, decision: Decision][] {
  const isSameKind = stored[KIND] === declared[KIND]
  const decide = (field: string): Decision =>
    decideDeclared(stored[field] ?? null, declared[field] ?? null, (value) =>
      isLastSet(field, value),
    )
  const fields = new Set([...Object.keys(stored), ...Object.keys(declared)])
  return [...fields].map((field) => [
    field,
    decide(isSameKind || !isRuntimeField(field) ? field : KIND),
  ])
}

const KIND = 'runtime.kind'
export const isRuntimeField = (field: string): boolean => field.startsWith('runtime.')

export const isSameJson = (a: Json, b: Json): boolean => canonicalJson(a) === canonicalJson(b)
