import type { Platform } from '../use-cases/deps.js'
import { createLoop } from './loop.js'

/**
 * Finishes what deletions left undone, so that they are cheap, a bounded number of rows at a time: cancels the open deliveries of
 * deleted webhooks, and frees the room of erased sessions and of what deleted agents had.
 */
export type Orphans = {
  wake(): void
  /** One round; gives how many deliveries it cancelled. */
  tick(): Promise<number>
  start(): void
  stop(): Promise<void>
}

const INTERVAL_MS = 60_000
const ORPHANS_A_ROUND = 1_000
/** Each may be a megabyte, and other writes wait behind them. */
const SWEPT_A_ROUND = 200

export function createOrphans(d: Pick<Platform, 'storage' | 'clock' | 'telemetry'>): Orphans {
  const loop = createLoop(d, 'orphans', INTERVAL_MS, tick)

  async function tick(): Promise<number> {
    const cancelled = await d.storage.deliveries.cancelOrphans({ now: d.clock.now(), limit: ORPHANS_A_ROUND })
    if (cancelled.isErr()) d.telemetry.record({ name: 'store.unavailable', reason: cancelled.error.reason })
    const swept = await d.storage.messages.sweep({ limit: SWEPT_A_ROUND })
    if (swept.isErr()) d.telemetry.record({ name: 'store.unavailable', reason: swept.error.reason })
    const count = cancelled.unwrapOr(0)
    if (count === ORPHANS_A_ROUND || swept.unwrapOr(0) === SWEPT_A_ROUND) loop.wake()
    return count
  }

  return { wake: loop.wake, tick, start: loop.start, stop: loop.stop }
}
