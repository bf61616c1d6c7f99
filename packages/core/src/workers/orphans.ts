import type { Platform } from '../use-cases/deps.js'
import { createLoop } from './loop.js'

/** Cancels the open deliveries of deleted webhooks, a bounded number at a time, so that deleting a webhook is cheap. */
export type Orphans = {
  wake(): void
  /** One round; gives how many it cancelled. */
  tick(): Promise<number>
  start(): void
  stop(): Promise<void>
}

const INTERVAL_MS = 60_000
const ORPHANS_A_ROUND = 1_000

export function createOrphans(d: Pick<Platform, 'storage' | 'clock' | 'telemetry'>): Orphans {
  const loop = createLoop(d, 'orphans', INTERVAL_MS, tick)

  async function tick(): Promise<number> {
    const cancelled = await d.storage.deliveries.cancelOrphans({ now: d.clock.now(), limit: ORPHANS_A_ROUND })
    if (cancelled.isErr()) d.telemetry.record({ name: 'store.unavailable', reason: cancelled.error.reason })
    const count = cancelled.unwrapOr(0)
    if (count === ORPHANS_A_ROUND) loop.wake()
    return count
  }

  return { wake: loop.wake, tick, start: loop.start, stop: loop.stop }
}
