import type { Clock } from '../ports/platform.js'

/** Resolves when `work`, which must not reject, has ended, or after `ms`; the work then goes on behind it. */
export async function within(clock: Clock, ms: number, work: Promise<unknown>): Promise<void> {
  const ended = new AbortController()
  void work.then(() => ended.abort('ended'))
  await clock.sleep(ms, ended.signal)
}
