import type { Agent, AgentState, FailedAgent } from '../domain/agents/agent.js'
import type { Instant } from '../domain/values/instant.js'

/**
 * The next step of the supervisor for one agent. Each step ends in a change of state, or is the
 * last.
 */
export type Step =
  /** Do nothing. */
  | 'none'
  /** Stop the runtime if it is here, and forget the agent. */
  | 'forget'
  /** The same, then mark the agent starting. */
  | 'begin start'
  /** Mark a starting agent stopped. */
  | 'cancel start'
  /** Start the runtime here if it is not here yet, open the lane, and mark the agent running. */
  | 'bring up'
  /** Mark a running agent stopping. */
  | 'begin stop'
  /** Mark a stopping agent starting: its runtime is still here. */
  | 'cancel stop'
  /** Wait for the runs, stop the runtime, and mark the agent stopped. */
  | 'finish stop'
  /**
   * Start no more runs. The runtime of an unhealthy agent stays, because its runs can still end
   * well.
   */
  | 'suspend'
  /** The same, then check the health of the agent again. */
  | 'recover'
  /** Stop the runtime if it is here, and wait. */
  | 'close'
  /** The same, then mark the agent starting. */
  | 'retry'

/** This process's relation to an agent. */
export type LocalAgent = {
  /** The runtime runs in this process. */
  readonly isHosted: boolean
  /** `other options`: this process has the runtime, but not for the agent's options. */
  readonly runtime: 'available' | 'other options' | 'unknown'
  /** The state was stored before this process looked at the agent for the first time. */
  readonly isInherited: boolean
  /** No other process uses the storage. */
  readonly isAlone: boolean
}

/** Decides the next step from the desired state, the observed state and the local process. */
export function decideStep(
  desired: Agent['desiredState'],
  state: AgentState,
  local: LocalAgent,
  now: Instant,
): Step {
  return desired === 'running' ? stepTowardsRunning(state, local, now) : stepTowardsStopped(state)
}

function stepTowardsStopped({ kind }: AgentState): Step {
  switch (kind) {
    case 'stopped':
      return 'forget'
    case 'starting':
      return 'cancel start'
    case 'running':
      return 'begin stop'
    case 'stopping':
    case 'error':
      return 'finish stop'
  }
}

function stepTowardsRunning(state: AgentState, local: LocalAgent, now: Instant): Step {
  const { isHosted, runtime, isInherited, isAlone } = local
  const isKnown = runtime !== 'unknown'
  switch (state.kind) {
    case 'stopped':
      return 'begin start'
    case 'starting':
      return isKnown ? 'bring up' : 'none'
    case 'running': {
      // Without its runtime here, the agent can run in another process. If there is none, it does
      // not run.
      const isLeftover = isInherited && isAlone
      return runtime === 'available' || (isKnown && isLeftover) ? 'bring up' : 'none'
    }
    case 'stopping':
      return isHosted ? 'cancel stop' : 'finish stop'
    case 'error':
      if (state.lastError.code === 'RUNTIME_UNHEALTHY')
        return isKnown && isRetryDue(state, now) ? 'recover' : 'suspend'
      // The reason for the failure can be gone in a new process, so it retries at once.
      return runtime === 'available' && (isInherited ? hasRetry(state) : isRetryDue(state, now))
        ? 'retry'
        : 'close'
  }
}

const hasRetry = ({ retryAt }: FailedAgent): boolean => retryAt !== undefined

const isRetryDue = ({ retryAt }: FailedAgent, now: Instant): boolean =>
  retryAt !== undefined && retryAt <= now
