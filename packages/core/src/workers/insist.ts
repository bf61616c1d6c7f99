import type { Deps } from '../use-cases/deps.js'
import type { Stored } from '../ports/storage.js'

const FIRST_PAUSE_MS = 50
const LONGEST_PAUSE_MS = 1_000

/** Repeats a write until the store takes it: for results in hand, which nobody else could record. */
export async function insist<T>(d: Pick<Deps, 'clock' | 'telemetry'>, write: () => Stored<T>): Promise<T> {
  for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(2 * pause, LONGEST_PAUSE_MS)) {
    const result = await write()
    if (result.isOk()) return result.value
    d.telemetry.record({ name: 'store.unavailable', reason: result.error.reason })
    await d.clock.sleep(pause)
  }
}
