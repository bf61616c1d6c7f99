import type { Instant } from '../domain/instant.js'
import type { Held } from './message-store.js'

/**
 * Extends the leases of runs from where agents' code cannot hold it up, such as a thread with a connection of its own: a run that
 * blocks the event loop for longer than its lease is then not begun a second time by another process. Neither method throws
 * or waits. The dispatcher extends the same leases from its own loop, and alone notices the ones that are lost.
 */
export interface LeaseKeeper {
  /**
   * Called before the run begins. Every third of a lease its lease is extended, if the token still has it, but never beyond `until`:
   * what a process holds that hangs for good becomes due in the end.
   */
  hold(run: Held & { readonly until: Instant }): void
  /** The run has ended; its lease, if it still has one, is left as it is. */
  release(run: Held): void
}
