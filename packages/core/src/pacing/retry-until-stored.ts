import type { Stored } from '../ports/stored.js'
import type { Platform } from '../platform.js'
import { reportUnavailable } from './report-unavailable.js'

const FIRST_PAUSE_MS = 50
const LONGEST_PAUSE_MS = 1_000

/**
 * Repeats a write until the store accepts it, because no other process has this result. After the
 * stop's deadline it tries once more and gives up: the lease then ends, and the work is done
 * again.
 */
export async function retryUntilStored<T>(
  d: Pick<Platform, 'clock' | 'telemetry' | 'stopDeadline'>,
  write: () => Stored<T>,
): Promise<Awaited<Stored<T>>> {
  for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(2 * pause, LONGEST_PAUSE_MS)) {
    const result = await write()
    if (result.ok) return result
    reportUnavailable(d, result.error)
    if (d.stopDeadline.aborted) return result
    await d.clock.sleep(pause)
  }
}
