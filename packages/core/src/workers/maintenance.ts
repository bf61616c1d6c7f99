import type { Instant } from '../domain/instant.js'
import type { Purge, Stored } from '../ports/storage.js'
import type { Platform } from '../use-cases/deps.js'
import { createLoop } from './loop.js'

/**
 * Ends what nobody will ever send, frees the room of what was erased, and purges what is finished and past its retention. In small steps, each a commit of its
 * own, so that everybody else's writes come between; nothing here is ever in a hurry.
 */
export type Maintenance = {
  wake(): void
  /** One round: one step of each kind. */
  tick(): Promise<Maintained>
  start(): void
  stop(): Promise<void>
}

/** What a round did. `isDone`: there was nothing left for another one. */
export type Maintained = {
  readonly cancelled: number
  readonly purgedDeliveries: number
  readonly purgedMessages: number
  readonly isDone: boolean
}

const INTERVAL_MS = 60_000
/** Rows of one step: a few milliseconds of SQLite's time. */
const STEP = 500

export function createMaintenance(d: Pick<Platform, 'storage' | 'clock' | 'telemetry' | 'policy'>): Maintenance {
  const { retention, disabledBacklog } = d.policy
  const { deliveries, messages } = d.storage
  const loop = createLoop(d, 'maintenance', INTERVAL_MS, tick)

  async function tick(): Promise<Maintained> {
    const now = d.clock.now()
    const steps = [
      await counted(deliveries.cancelOrphans({ now, limit: STEP })),
      await counted(deliveries.cancelStale({ now, dueBefore: now - disabledBacklog.maxAgeMs, keep: disabledBacklog.max, limit: STEP })),
      await purged(deliveries, now - retention.deliveriesMs),
      await purged(messages, now - retention.messagesMs),
      await counted(messages.sweep({ limit: STEP })),
    ] as const
    const [orphans, stale, purgedDeliveries, purgedMessages] = steps
    const done = { cancelled: orphans + stale, purgedDeliveries, purgedMessages }
    const isDone = steps.every((count) => count < STEP)
    if (steps.some((count) => count > 0)) d.telemetry.record({ name: 'maintenance.done', ...done })
    if (!isDone) loop.wake()
    return { ...done, isDone }
  }

  async function purged(store: { purge(purge: Purge): Stored<number> }, finishedBefore: Instant): Promise<number> {
    return finishedBefore === -Infinity ? 0 : counted(store.purge({ finishedBefore, limit: STEP }))
  }

  /** A step that the storage refuses is for the next round. */
  async function counted(step: Stored<number>): Promise<number> {
    const count = await step
    if (count.isErr()) d.telemetry.record({ name: 'store.unavailable', reason: count.error.reason })
    return count.unwrapOr(0)
  }

  return { wake: loop.wake, tick, start: loop.start, stop: loop.stop }
}
