import type { Changing, Platform } from '../platform.js'
import { err, ok, safeTry } from 'neverthrow'
import type { Agent, AgentSettings } from '../domain/agents/agent.js'
import {
  decideFields,
  fieldsOfAgent,
  isRuntimeField,
  isSameJson,
  type AgentFields,
  type Decision,
  type DeclaredDigests,
} from '../domain/agents/declared-agent.js'
import type { Json } from '../domain/values/json.js'
import type { Needs } from './context.js'
import {
  createAgent,
  parsedRuntime,
  withDefaults,
  type Configuring,
  type CreateAgentError,
} from './create-agent.js'
import {
  changeDeclared,
  declaredKey,
  digestsOf,
  readDeclared,
  storedFields,
} from './declared-records.js'
import { changeAgent, startAgent, type UpdateAgentError } from './manage-agents.js'
import { chain, type Chained } from '../pacing/chain.js'

export type DeclareAgentsInput = {
  readonly projectId: string
  /** All agents of the program. */
  readonly agents: readonly AgentSettings[]
}
type Refusal = CreateAgentError | UpdateAgentError
/** `agent` is the name of the agent whose declaration failed. */
export type DeclareAgentsError = Refusal & { readonly agent?: string }

type Declaring = Changing & Configuring & Needs<'policy' | 'telemetry' | 'supervisor'>

export const declareAgents =
  (d: Declaring) =>
  ({ projectId, agents }: DeclareAgentsInput) =>
    safeTry(async function* () {
      for (const settings of agents) {
        const { name: agent } = settings
        yield* declareAgent(d, projectId, settings).mapErr((error) => ({ ...error, agent }))
      }
      yield* warnOfUndeclared(d, projectId, new Set(agents.map(({ name }) => name)))
      return ok(undefined)
    })

const declareAgent = (d: Declaring, projectId: string, settings: AgentSettings) =>
  safeTry(async function* () {
    const key = declaredKey(projectId, settings.name)
    const { [key]: record } = yield* readDeclared(d)
    const found = yield* chain(d.storage.agents.get(projectId, settings.name))
    const wasDeleted = found === undefined && record !== undefined
    const agent = wasDeleted ? undefined : (found ?? (yield* create(d, projectId, settings)))
    if (agent === undefined) return ok(undefined)
    const runtime = yield* await parsedRuntime(d, settings.runtime)
    const [stored, declared] = [
      storedFields(d.crypto, agent),
      fieldsOfAgent({ ...withDefaults(settings), runtime }),
    ]
    const isLastSet = (field: string, value: Json): boolean => {
      const digest = record?.[field]
      if (digest === undefined) return record !== undefined && value === null
      return digestsOf(d.crypto, key).fits(field, value, digest)
    }
    const decisions = decideFields(stored, declared, isLastSet)
    yield* write(d, agent, settings, { stored, declared, decisions })
    const digests = newDigests(d, key, record, declared, decisions)
    return changeDeclared(d, (records) => ({ ...records, [key]: digests }))
  })

/** Returns the agent of another process if that process was faster. */
const create = (d: Declaring, projectId: string, settings: AgentSettings) =>
  createAgent(d)({ ...settings, projectId })
    .map(({ agent }): Agent | undefined => agent)
    .orElse((error) =>
      error.kind === 'name_taken'
        ? chain(d.storage.agents.get(projectId, settings.name))
        : err(error),
    )

type Comparison = {
  readonly stored: AgentFields
  readonly declared: AgentFields
  readonly decisions: readonly [field: string, decision: Decision][]
}

/** Writes the fields that the code has changed, and warns of the ones that a person has. */
const write = (d: Declaring, agent: Agent, settings: AgentSettings, comparison: Comparison) =>
  safeTry(async function* () {
    const { id: agentId, projectId, name } = agent
    const fieldsOf = (wanted: Decision): string[] =>
      comparison.decisions.filter(([, decision]) => decision === wanted).map(([field]) => field)
    const fields = fieldsOf('warn')
    if (fields.length > 0)
      d.telemetry.record({ name: 'agent.settings_kept', agentId, projectId, agent: name, fields })
    const written = fieldsOf('write')
    if (written.length === 0) return ok(undefined)
    const change = {
      ...Object.fromEntries(
        Object.entries({ a2a: { enabled: false }, ...withDefaults(settings) }).filter(([field]) =>
          written.includes(field),
        ),
      ),
      ...(written.some(isRuntimeField) && { runtime: mergedRuntime(settings, comparison) }),
    }
    yield* changeAgent(d, { projectId, agent: agentId, change, restarts: true })
    // The new settings can repair an agent that the supervisor no longer tries.
    if (agent.desiredState === 'running' && agent.state.kind === 'error')
      yield* startAgent(d)({ projectId, agent: agentId })
    return ok(undefined)
  })

/** The code's runtime, with the options that a person has changed. */
function mergedRuntime({ runtime }: AgentSettings, { stored, declared, decisions }: Comparison) {
  const kept = decisions.filter(
    ([field, decision]) =>
      isRuntimeField(field) &&
      decision !== 'write' &&
      !isSameJson(stored[field] ?? null, declared[field] ?? null),
  )
  const merged = kept.map(([field]) => [field.slice('runtime.'.length), stored[field]])
  return { ...runtime, ...Object.fromEntries(merged) } as AgentSettings['runtime']
}

function newDigests(
  d: Pick<Platform, 'crypto'>,
  key: string,
  record: DeclaredDigests | undefined,
  declared: AgentFields,
  decisions: Comparison['decisions'],
): DeclaredDigests {
  const digests = digestsOf(d.crypto, key)
  const entries = decisions.flatMap(([field, decision]): [string, string][] => {
    if (decision === 'warn') return [[field, record?.[field] ?? '']]
    const { [field]: value } = declared
    return value === undefined ? [] : [[field, digests.of(field, value)]]
  })
  return Object.fromEntries(entries)
}

/** Another program, or another version of this one, can still need the agents. */
const warnOfUndeclared = (
  d: Pick<Platform, 'storage' | 'telemetry'>,
  projectId: string,
  declared: ReadonlySet<string>,
): Chained<void> =>
  safeTry(async function* () {
    const prefix = declaredKey(projectId, '')
    const others: string[] = []
    for (const key of Object.keys(yield* readDeclared(d))) {
      const name = key.slice(prefix.length)
      if (!key.startsWith(prefix) || declared.has(name)) continue
      const agent = yield* chain(d.storage.agents.get(projectId, name))
      if (agent?.desiredState === 'running') others.push(name)
    }
    if (others.length > 0)
      d.telemetry.record({
        name: 'agent.undeclared',
        projectId,
        agents: others,
        hint: 'this program does not declare them; to stop one: agent-messaging agents stop <name>',
      })
    return ok(undefined)
  })
