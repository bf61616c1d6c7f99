import type { Instant } from '../../domain/values/instant.js'
import { isFinal, type Message } from '../../domain/messages/message.js'
import { within } from '../../pacing/deadline.js'
import type { Platform } from '../../platform.js'
import type { Run } from './run.js'
import type { AbortReason } from './run-outcome.js'

/**
 * True a third of a lease after the last extension, so that one extension can fail. A clock that
 * was set back counts as well: otherwise the lease would end before the old time comes again.
 */
export const isExtensionDue = (
  extendedAt: Instant | undefined,
  now: Instant,
  leaseMs: number,
): boolean => extendedAt === undefined || Math.abs(now - extendedAt) >= leaseMs / 3

/** Returns the last run of each message. An earlier run of the same message has lost its lease. */
export const newestRuns = (runs: readonly Run[]): Run[] => [
  ...new Map(runs.map((run) => [run.held.messageId, run])).values(),
]

/**
 * Returns why a run has no lease any more. `message`: its message now, or undefined if it was
 * erased.
 */
export const lossReason = (message: Message | undefined): AbortReason =>
  message && !isFinal(message.state) ? 'lost' : 'cancelled'

/**
 * Extends the leases of this process's runs, and aborts runs that are overdue or have lost their
 * lease.
 */
export class RunLeases {
  readonly #platform: Platform
  readonly #runs: () => readonly Run[]
  #extendedAt: Instant | undefined
  #isExtending = false
  /** Ends the timer. Undefined while it does not run. */
  #timer: AbortController | undefined

  constructor(platform: Platform, runs: () => readonly Run[]) {
    this.#platform = platform
    this.#runs = runs
  }

  /**
   * Aborts overdue runs and extends the leases if that is due. Waits for the extension, because
   * the next claim could return the same messages, but for at most a poll: a session can be locked
   * in the storage.
   */
  async keep(): Promise<void> {
    const { clock, policy } = this.#platform
    const now = clock.now()
    const runs = this.#runs()
    for (const run of runs) run.enforceDeadline()
    const isDue = runs.length > 0 && isExtensionDue(this.#extendedAt, now, policy.runLeaseMs)
    if (!isDue || this.#isExtending) return
    this.#isExtending = true
    this.#extendedAt = now
    const extended = this.#extend(newestRuns(runs), now + policy.runLeaseMs)
    await within(
      clock,
      policy.pollMs,
      extended.then(() => (this.#isExtending = false)),
    )
  }

  /**
   * Calls `keep` at every poll until `stopTimer`: for runs of a pass, in a process without the
   * loop.
   */
  async startTimer(): Promise<void> {
    if (this.#timer) return
    const { clock, policy } = this.#platform
    const timer = new AbortController()
    this.#timer = timer
    while (!timer.signal.aborted) {
      await clock.sleep(policy.pollMs, timer.signal)
      await this.keep()
    }
  }

  stopTimer(): void {
    this.#timer?.abort('idle')
    this.#timer = undefined
  }

  async #extend(runs: readonly Run[], until: Instant): Promise<void> {
    const { messages } = this.#platform.storage
    const extended = await messages.extendLeases(
      runs.map((run) => run.held),
      until,
    )
    const lost = new Set(extended.ok ? extended.value : [])
    if (lost.size === 0) return
    const found = await messages.find([...lost])
    const byId = new Map((found.ok ? found.value : []).map((message) => [message.id, message]))
    for (const run of runs) {
      const { messageId } = run.held
      if (lost.has(messageId)) run.abort(lossReason(byId.get(messageId)))
    }
  }
}
