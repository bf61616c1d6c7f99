import type { Instant } from '../domain/instant.js'
import type { Purge, Stored } from '../ports/stored.js'
import type { Platform } from '../platform.js'
import { createLoop } from '../pacing/loop.js'

/**
 * Ends what nobody will ever send, frees the room of what was erased, and purges what is finished and past its retention. In small
 * steps, each a commit of its own, so that everybody else's writes come between; nothing here is ever in a hurry.
 */
export type Maintenance = {
  wake(): void
  /** One round: a few steps of each kind. */
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
/** Rows of one step: a millisecond of SQLite's time, 20 where each has ten failed attempts with long answers, 50 with 1 MiB of text in each. */
const STEP = 100
/** Of one kind in a round: the last look of each kind, which finds nothing more, can cost as much as ten. */
const MOST_STEPS = 10

export function createMaintenance(
  d: Pick<Platform, 'storage' | 'clock' | 'telemetry' | 'policy'>,
): Maintenance {
  const { retention, disabledBacklog } = d.policy
  const { deliveries, messages } = d.storage
  const loop = createLoop(d, 'maintenance', INTERVAL_MS, tick)

  async function tick(): Promise<Maintained> {
    const now = d.clock.now()
    const { maxAgeMs, max } = disabledBacklog
    const kinds = [
      await steps(() => deliveries.cancelOrphans({ now, limit: STEP })),
      await steps(() =>
        deliveries.cancelStale({ now, dueBefore: now - maxAgeMs, keep: max, limit: STEP }),
      ),
      await purged(deliveries, now - retention.deliveriesMs),
      await purged(messages, now - retention.messagesMs),
      await steps(() => messages.sweep({ limit: STEP })),
    ] as const
    const [orphans, stale, purgedDeliveries, purgedMessages] = kinds
    const done = { cancelled: orphans + stale, purgedDeliveries, purgedMessages }
    const isDone = kinds.every((count) => count < MOST_STEPS * STEP)
    if (kinds.some((count) => count > 0)) d.telemetry.record({ name: 'maintenance.done', ...done })
    if (!isDone) loop.wake()
    return { ...done, isDone }
  }

  async function purged(
    store: { purge(purge: Purge): Stored<number> },
    finishedBefore: Instant,
  ): Promise<number> {
    return finishedBefore === -Infinity
      ? 0
      : steps(() => store.purge({ finishedBefore, limit: STEP }))
  }

  /** Rows of up to so many steps: fewer than they can have when there are no more. What the storage refuses is for the next round. */
  async function steps(step: () => Stored<number>): Promise<number> {
    let rows = 0
    for (let n = 1; n <= MOST_STEPS; n++) {
      const count = await step()
      if (count.isErr())
        d.telemetry.record({ name: 'store.unavailable', reason: count.error.reason })
      rows += count.unwrapOr(0)
      if (count.unwrapOr(0) < STEP) break
    }
    return rows
  }

  return { wake: loop.wake, tick, start: loop.start, stop: loop.stop }
}
