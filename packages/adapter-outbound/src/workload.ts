import type { RunOutcome } from '@org/agent-messaging-core/runtime'

const HEALTH_TIMEOUT_MS = 5_000
/** Shorter than core's own timeout, so that a busy server still counts as healthy. */
const BUSY_HEALTH_TIMEOUT_MS = 2_000

/** Whether an agent's server is busy, judged by its runs. */
export class Workload {
  #runs = 0
  #hasTimedOut = false

  /**
   * True while a run is open, unless a run has timed out since the last answered one. A busy server
   * that handles one request at a time cannot answer a health check.
   */
  get isBusy(): boolean {
    return this.#runs > 0 && !this.#hasTimedOut
  }

  get healthTimeoutMs(): number {
    return this.isBusy ? BUSY_HEALTH_TIMEOUT_MS : HEALTH_TIMEOUT_MS
  }

  /** Counts a run. `signal` is the signal that ends it. */
  async count(run: Promise<RunOutcome>, signal: AbortSignal): Promise<RunOutcome> {
    this.#runs++
    const outcome = await run
    this.#runs--
    if (outcome.kind !== 'failed') this.#hasTimedOut = false
    else this.#hasTimedOut ||= outcome.error.code === 'RUNTIME_TIMEOUT' && !isCalledOff(signal)
    return outcome
  }
}

/** True if the service ended the run for a reason unrelated to the agent's speed. */
const isCalledOff = ({ aborted, reason }: AbortSignal) =>
  aborted && !(reason instanceof Error && reason.cause === 'timeout')
