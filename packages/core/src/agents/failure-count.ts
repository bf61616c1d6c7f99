import { decideAfterFailure, type AgentState, type FailedAgent } from '../domain/agent.js'
import type { RunError } from '../domain/run.js'
import type { Platform } from '../platform.js'

/** How often each agent has failed in a row, and what it is after the next time. */
export type FailureCount = {
  failed(agentId: string, error: RunError): FailedAgent
  /** Counts nothing: whoever cancels messages must not keep an agent from its work, nor have it given up. */
  sacrificed(agentId: string, error: RunError): FailedAgent
  /** Failures in a row go on where they are, whichever process had the last; one that is given up begins anew when it is started. */
  note(agentId: string, state: FailedAgent): void
  /** One that has run for long has recovered: its next failure counts as the first. */
  noteRunning(agentId: string, state: AgentState): void
  forget(agentId: string): void
}

const STEADY_MS = 60_000

export function createFailureCount({ clock }: Pick<Platform, 'clock'>): FailureCount {
  const failures = new Map<string, number>()

  function note(agentId: string, state: FailedAgent): void {
    if (state.retryAt === undefined) failures.delete(agentId)
    else failures.set(agentId, state.failures)
  }

  return {
    failed(agentId, error) {
      const state = decideAfterFailure((failures.get(agentId) ?? 0) + 1, error, clock.now())
      note(agentId, state)
      return state
    },
    sacrificed: (agentId, lastError) => ({
      kind: 'error',
      lastError,
      failures: failures.get(agentId) ?? 0,
      retryAt: clock.now(),
    }),
    note,
    noteRunning(agentId, state) {
      if (state.kind === 'running' && clock.now() - state.startedAt >= STEADY_MS)
        failures.delete(agentId)
    },
    forget: (agentId) => void failures.delete(agentId),
  }
}
