import type {
  Agent,
  AgentState,
  DefaultExecutionPrincipal,
  JsonObject,
  RunError,
} from '@org/agent-messaging-core/storage'

export type AgentRow = ReturnType<typeof agentColumns> & { readonly seq: number }

/** Append a `where`. */
export const selectAgent = `
  select seq, id, project_id as projectId, name, default_principal as defaultPrincipal, runtime_kind as runtimeKind,
    runtime_options as runtimeOptions, runtime_secrets as runtimeSecrets, desired_state as desiredState,
    state, started_at as startedAt, last_error as lastError, retry_at as retryAt, failures,
    concurrency, max_attempts as maxAttempts, max_queued as maxQueued, created_at as createdAt, updated_at as updatedAt
  from agents`

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
  const {
    state: kind,
    startedAt,
    lastError,
    failures,
  } = row as { readonly [C in keyof typeof row]: NonNullable<(typeof row)[C]> }
  if (kind === 'running') return { kind, startedAt }
  const retry = row.retryAt !== null && { retryAt: row.retryAt }
  if (kind === 'error')
    return { kind, lastError: JSON.parse(lastError) as RunError, failures, ...retry }
  return { kind }
}
