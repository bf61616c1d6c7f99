import { toIso, type Agent, type CreatedAgent, type FailedAgent } from '@org/agent-messaging-core'

export const agentBody = ({ runtime, state, createdAt, updatedAt, ...agent }: Agent) => ({
  id: agent.id,
  name: agent.name,
  defaultExecutionPrincipal: agent.defaultExecutionPrincipal,
  // The options that the runtime's adapter keeps in the open; what it took for secret never leaves the service.
  runtime: { kind: runtime.kind, ...runtime.options },
  desiredState: agent.desiredState,
  state: state.kind,
  ...(state.kind === 'error' && failureOf(state)),
  concurrency: agent.concurrency,
  maxAttempts: agent.maxAttempts,
  maxQueued: agent.maxQueued,
  createdAt: toIso(createdAt),
  updatedAt: toIso(updatedAt),
})

const failureOf = ({ lastError, failures, retryAt }: FailedAgent) => ({
  lastError,
  failures,
  ...(retryAt !== undefined && { retryAt: toIso(retryAt) }),
})

/** With the signing secret, if one was just made: it is shown this once. */
export const createdAgentBody = ({ agent, signingSecret }: CreatedAgent) => ({
  ...agentBody(agent),
  ...(signingSecret !== undefined && { signingSecret }),
})
