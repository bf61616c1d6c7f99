import { decideAfterFailure, type AgentState, type FailedAgent } from '../domain/agents/agent.js'
import type { RunError } from '../domain/messages/run.js'
import type { Clock } from '../ports/platform.js'

/** An agent that has run for this long has recovered. */
const STEADY_MS = 60_000

/** How many times in a row each agent has failed. */
export class FailureCounts {
  readonly #clock: Clock
  readonly #counts = new Map<string, number>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Counts a failure and returns the agent's state after it. */
  failed(agentId: string, error: RunError): FailedAgent {
    const failures = (this.#counts.get(agentId) ?? 0) + 1
    const state = decideAfterFailure(failures, error, this.#clock.now())
    this.noteError(agentId, state)
    return state
  }

  /**
   * Returns the state of an agent that its runtime ended on purpose, without counting a failure.
   * Callers that cancel messages must not stop an agent.
   */
  interrupted(agentId: string, lastError: RunError): FailedAgent {
    const failures = this.#counts.get(agentId) ?? 0
    return { kind: 'error', lastError, failures, retryAt: this.#clock.now() }
  }

  /** Continues the count of another process. After the last try the count starts again. */
  noteError(agentId: string, { failures, retryAt }: FailedAgent): void {
    if (retryAt === undefined) this.#counts.delete(agentId)
    else this.#counts.set(agentId, failures)
  }

  /** Resets the count of an agent that has run for a minute. */
  noteRunning(agentId: string, state: AgentState): void {
    if (state.kind === 'running' && this.#clock.now() - state.startedAt >= STEADY_MS)
      this.#counts.delete(agentId)
  }

  forget(agentId: string): void {
    this.#counts.delete(agentId)
  }
}
