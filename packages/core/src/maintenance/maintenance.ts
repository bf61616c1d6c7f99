import { COUNT_STEPS, startOf } from '../domain/operations/counts.js'
import type { Instant } from '../domain/values/instant.js'
import { success } from '../ports/port-result.js'
import type { Purge, Stored } from '../ports/stored.js'
import type { Platform } from '../platform.js'
import { createLoop } from '../pacing/loop.js'
import { valueOr } from '../pacing/report-unavailable.js'
import type { Folding } from './folding.js'
import { countDays } from './people.js'

/**
 * Cancels deliveries that cannot be sent any more, frees the space of erased rows, and purges
 * final rows after their retention. It works in small steps, each in one commit, so that other
 * writes run in between.
 */
export type Maintenance = {
  wake(): void
  /** Does a few steps of each kind. */
  tick(): Promise<Maintained>
  start(): void
  stop(): Promise<void>
}

/** The work of one round. `isDone` means that nothing is left. */
export type Maintained = {
  readonly cancelled: number
  readonly purgedDeliveries: number
  readonly purgedMessages: number
  readonly isDone: boolean
}

const INTERVAL_MS = 60_000
/** The id of a published event is remembered for so long, also if events are kept for less. */
const IDS_KEPT_MS = 86_400_000
/**
 * Rows per step: a millisecond of SQLite's time, 20 ms with ten failed attempts each, 50 ms with 1
 * MiB of text each.
 */
const STEP = 100
/**
 * Steps of each kind in a round. The last look of a kind, which finds nothing, can cost as much as
 * ten steps.
 */
const MOST_STEPS = 10

export function createMaintenance(
  d: Pick<Platform, 'storage' | 'clock' | 'telemetry' | 'policy' | 'stopping'>,
  folding: Folding,
): Maintenance {
  const { retention, disabledBacklog: disabled } = d.policy
  const { audit, counts, deliveries, events, messages, recoveries } = d.storage
  const loop = createLoop(d, 'maintenance', INTERVAL_MS, tick)
  const steps = (step: () => Stored<number>): Promise<number> => stepsOf(d, step)

  async function tick(): Promise<Maintained> {
    const now = d.clock.now()
    const eventsBefore = now - retention.eventsMs
    const endedBefore = now - retention.deliveriesMs
    const idsBefore = atLeast0(now - Math.max(retention.eventsMs, IDS_KEPT_MS))
    await folding.fold()
    for (const { ms, keptMs } of COUNT_STEPS)
      await purged(
        ({ finishedBefore: before, limit }) => counts.purge({ stepMs: ms, before, limit }),
        startOf(now - keptMs, ms),
      )
    const counted = await countDays(d)
    let putOff = 0
    async function purgeMessages(purge: Purge): Stored<number> {
      const purged = await messages.purge({ ...purge, now })
      if (!purged.ok) return purged
      const { removed, looked } = purged.value
      putOff += looked - removed
      return success(looked)
    }
    const kinds = [
      await steps(() => deliveries.cancelOrphans({ now, limit: STEP })),
      await steps(() =>
        deliveries.cancelStale({
          now,
          dueBefore: now - disabled.maxAgeMs,
          keep: disabled.max,
          limit: STEP,
        }),
      ),
      await purged(
        (purge) => deliveries.purge({ ...purge, eventsBefore: atLeast0(eventsBefore), idsBefore }),
        endedBefore,
      ),
      await purged(purgeMessages, Math.min(now - retention.messagesMs, counted.until)),
      await steps(() => messages.sweep({ limit: STEP, now })),
      await steps(() => recoveries.purge({ finishedBefore: atLeast0(endedBefore), limit: STEP })),
      await purged((purge) => audit.purge(purge), endedBefore),
      await purged((purge) => events.purge(eventPurge(purge, idsBefore)), eventsBefore),
    ] as const
    const [orphans, stale, purgedDeliveries, lookedAt] = kinds
    const purgedMessages = lookedAt - putOff
    const done = { cancelled: orphans + stale, purgedDeliveries, purgedMessages }
    const isDone = !counted.hasMore && kinds.every((count) => count < MOST_STEPS * STEP)
    if (kinds.reduce((sum, count) => sum + count, 0) > putOff)
      d.telemetry.record({ name: 'maintenance.done', ...done })
    if (!isDone) loop.wake()
    return { ...done, isDone }
  }

  async function purged(
    purge: (purge: Purge) => Stored<number>,
    finishedBefore: Instant,
  ): Promise<number> {
    return finishedBefore === -Infinity ? 0 : steps(() => purge({ finishedBefore, limit: STEP }))
  }

  return { wake: loop.wake, tick, start: loop.start, stop: loop.stop }
}

const eventPurge = ({ finishedBefore: createdBefore, limit }: Purge, idsBefore: Instant) => ({
  createdBefore,
  idsBefore,
  limit,
})

/**
 * Returns the rows of up to `MOST_STEPS` steps. A step that the storage refuses is left to the
 * next round.
 */
async function stepsOf(
  d: Parameters<typeof valueOr>[0],
  step: () => Stored<number>,
): Promise<number> {
  let rows = 0
  for (let n = 1; n <= MOST_STEPS; n++) {
    const count = valueOr(d, await step(), 0)
    rows += count
    if (count < STEP) break
  }
  return rows
}

/** `-Infinity` keeps all events, as 0 does. A store takes numbers only. */
const atLeast0 = (at: Instant): Instant => Math.max(0, at)
