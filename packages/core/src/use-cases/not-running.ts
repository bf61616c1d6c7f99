import { comesBackInMs, type Agent } from '../domain/agent.js'
import type { Instant } from '../domain/instant.js'

/** Nothing was done, for the agent does not run. `retryInMs`: when it may, if that can be told. */
export type NotRunning = {
  readonly kind: 'agent_not_running'
  readonly state: Agent['state']['kind']
  readonly retryInMs?: number
}

export function notRunning(agent: Agent, now: Instant): NotRunning {
  const retryInMs = comesBackInMs(agent, now)
  return {
    kind: 'agent_not_running',
    state: agent.state.kind,
    ...(retryInMs !== undefined && { retryInMs }),
  }
}
