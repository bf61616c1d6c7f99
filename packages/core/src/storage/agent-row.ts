import type { A2aSetting } from '../domain/agents/a2a-card.js'
import type { Agent, AgentState } from '../domain/agents/agent.js'
import type { JsonObject } from '../domain/values/json.js'
import type { DefaultExecutionPrincipal } from '../domain/access/principal.js'
import type { RunError } from '../domain/messages/run.js'

export type AgentColumns = ReturnType<typeof agentColumns>
export type AgentRow = AgentColumns & { readonly seq: number }

type Properties = readonly (keyof AgentColumns)[]

/** The columns that a change of state writes. */
export const AGENT_STATE = [
  'state',
  'startedAt',
  'lastError',
  'failures',
  'retryAt',
] as const satisfies Properties
/** The columns that an update writes. */
export const AGENT_UPDATE = [
  'name',
  'defaultPrincipal',
  'runtimeKind',
  'runtimeOptions',
  'runtimeSecrets',
  'desiredState',
  'concurrency',
  'maxAttempts',
  'maxQueued',
  'a2a',
  'updatedAt',
] as const satisfies Properties
export const AGENT_COLUMNS: Properties = [
  'id',
  'projectId',
  'createdAt',
  ...AGENT_UPDATE,
  ...AGENT_STATE,
]

export const toAgent = (row: AgentRow): Agent => ({
  id: row.id,
  projectId: row.projectId,
  name: row.name,
  defaultExecutionPrincipal: JSON.parse(row.defaultPrincipal) as DefaultExecutionPrincipal,
  runtime: {
    kind: row.runtimeKind,
    options: JSON.parse(row.runtimeOptions) as JsonObject,
    ...(row.runtimeSecrets !== null && { secrets: row.runtimeSecrets }),
  },
  desiredState: row.desiredState,
  state: toAgentState(row),
  concurrency: row.concurrency,
  maxAttempts: row.maxAttempts,
  maxQueued: row.maxQueued,
  ...(row.a2a !== null && { a2a: JSON.parse(row.a2a) as A2aSetting }),
  createdAt: row.createdAt,
  updatedAt: row.updatedAt,
})

export const agentColumns = (agent: Agent) => ({
  id: agent.id,
  projectId: agent.projectId,
  name: agent.name,
  defaultPrincipal: JSON.stringify(agent.defaultExecutionPrincipal),
  runtimeKind: agent.runtime.kind,
  runtimeOptions: JSON.stringify(agent.runtime.options),
  runtimeSecrets: agent.runtime.secrets ?? null,
  desiredState: agent.desiredState,
  ...agentStateColumns(agent.state),
  concurrency: agent.concurrency,
  maxAttempts: agent.maxAttempts,
  maxQueued: agent.maxQueued,
  a2a: agent.a2a ? JSON.stringify(agent.a2a) : null,
  createdAt: agent.createdAt,
  updatedAt: agent.updatedAt,
})

export const agentStateColumns = (state: AgentState) => ({
  state: state.kind,
  startedAt: state.kind === 'running' ? state.startedAt : null,
  lastError: state.kind === 'error' ? JSON.stringify(state.lastError) : null,
  failures: state.kind === 'error' ? state.failures : null,
  retryAt: state.kind === 'error' ? (state.retryAt ?? null) : null,
})

/** Reads the columns that `agentStateColumns` wrote. The columns of the state are not null. */
function toAgentState(row: ReturnType<typeof agentStateColumns>): AgentState {
  const kind = row.state
  switch (kind) {
    case 'running':
      return { kind, startedAt: row.startedAt as number }
    case 'error':
      return {
        kind,
        lastError: JSON.parse(row.lastError as string) as RunError,
        failures: row.failures as number,
        ...(row.retryAt !== null && { retryAt: row.retryAt }),
      }
    default:
      return { kind }
  }
}
