import { toIso, type Agent, type ApiKey, type Project } from '@org/agent-messaging-core'

// What --json prints of each: the fields that the HTTP API shows.

export const projectBody = ({ id, name, createdAt }: Project) => ({ id, name, createdAt: toIso(createdAt) })

export const keyBody = ({ id, name, permissions, createdAt, expiresAt, revokedAt }: ApiKey) => ({
  ...{ id, name, permissions, createdAt: toIso(createdAt) },
  ...(expiresAt !== undefined && { expiresAt: toIso(expiresAt) }),
  ...(revokedAt !== undefined && { revokedAt: toIso(revokedAt) }),
})

export const agentBody = ({
  id,
  name,
  defaultExecutionPrincipal,
  runtime,
  desiredState,
  state,
  concurrency,
  maxAttempts,
  maxQueued,
  ...at
}: Agent) => ({
  ...{ id, name, defaultExecutionPrincipal, runtime: { kind: runtime.kind, ...runtime.options }, desiredState, state: state.kind },
  ...(state.kind === 'error' && { lastError: state.lastError }),
  ...{ concurrency, maxAttempts, maxQueued, createdAt: toIso(at.createdAt), updatedAt: toIso(at.updatedAt) },
})
