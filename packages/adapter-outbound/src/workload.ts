import type { RunOutcome } from '@org/agent-messaging-core/runtime'

/** What an agent's runs tell of its server. */
export type Workload = {
  /** A run goes on, and none has run out of time since the last one that was answered: the server may be too busy for anything else. */
  readonly isBusy: boolean
  /** Counts a run; `signal` is the one that ends it. */
  count(run: Promise<RunOutcome>, signal: AbortSignal): Promise<RunOutcome>
}

/** What a busy server is given to say that it is well; core waits for longer. One that does one thing at a time says so when its run is over. */
export const BUSY_HEALTH_TIMEOUT_MS = 2_000
export const HEALTH_TIMEOUT_MS = 5_000

export function workload(): Workload {
  let runs = 0
  let hasRunOut = false
  return {
    get isBusy() {
      return runs > 0 && !hasRunOut
    },
    async count(run, signal) {
      runs++
      const outcome = await run
      runs--
      if (outcome.kind !== 'failed') hasRunOut = false
      else hasRunOut ||= outcome.error.code === 'RUNTIME_TIMEOUT' && !isCalledOff(signal)
      return outcome
    },
  }
}

/** Ended for a reason that says nothing of the agent. */
const isCalledOff = ({ aborted, reason }: AbortSignal): boolean =>
  aborted && !(reason instanceof Error && reason.cause === 'timeout')
