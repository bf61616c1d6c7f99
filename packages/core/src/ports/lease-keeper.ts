import type { Instant } from '../domain/values/instant.js'
import type { HeldRun } from './message-store.js'

/**
 * Extends the leases of runs from a place that an agent's code cannot block, such as a thread with
 * a connection. Then no other process starts a run a second time while it blocks the event loop.
 * No method throws or waits. The dispatcher extends the same leases from its loop, and alone
 * notices lost ones.
 */
export interface LeaseKeeper {
  /**
   * Extends the run's lease every third of a lease, while the token holds it, but never beyond
   * `until`: a run that hangs for good becomes due again. The dispatcher calls it before the run
   * begins.
   */
  hold(run: HeldRun & { readonly until: Instant }): void
  /** Stops extending the lease when the run has ended. */
  release(run: HeldRun): void
}
