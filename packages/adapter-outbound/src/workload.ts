import type { HttpOutcome } from './answer.js'

/** What an agent's runs tell of its server. */
export type Workload = {
  /** A run goes on, and since the last one that was answered none has run out of time: the server may be too busy for anything else. */
  readonly isBusy: boolean
  /** Counts a run; `signal` is the one that ends it. */
  run(outcome: Promise<HttpOutcome>, signal: AbortSignal): Promise<HttpOutcome>
}

export function workload(): Workload {
  let runs = 0
  let hasRunOut = false
  return {
    get isBusy() {
      return runs > 0 && !hasRunOut
    },
    async run(pending, signal) {
      runs++
      const outcome = await pending
      runs--
      if (outcome.kind === 'response') hasRunOut = false
      else hasRunOut ||= outcome.error === 'timeout' && !isCalledOff(signal)
      return outcome
    },
  }
}

/** Ended for a reason that says nothing of the agent. */
const isCalledOff = ({ aborted, reason }: AbortSignal): boolean => aborted && !(reason instanceof Error && reason.cause === 'timeout')
