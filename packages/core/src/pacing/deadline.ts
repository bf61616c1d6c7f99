import type { Clock } from '../ports/platform.js'

/**
 * Resolves when `work` has ended, or after `ms`. The work continues after that. `work` must not
 * reject.
 */
export async function within(clock: Clock, ms: number, work: Promise<unknown>): Promise<void> {
  const ended = new AbortController()
  void work.then(() => ended.abort('ended'))
  await clock.sleep(ms, ended.signal)
}
