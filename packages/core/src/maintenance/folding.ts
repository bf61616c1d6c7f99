import { createLoop } from '../pacing/loop.js'
import { valueOr } from '../pacing/report-unavailable.js'
import type { Platform } from '../platform.js'

/** Folds appended counts into rows, so that readers find few entries. */
export type Folding = {
  /** Folds all entries. */
  fold(): Promise<void>
  start(): void
  stop(): Promise<void>
}

const LIMIT = 1_000
/** After a fold that found entries, more are likely. */
const BUSY_MS = 1_000
const IDLE_MS = 10_000

export function createFolding(d: Pick<Platform, 'storage' | 'clock' | 'telemetry'>): Folding {
  let found = false
  const loop = createLoop(d, 'counts', () => (found ? BUSY_MS : IDLE_MS), fold)

  async function fold(): Promise<void> {
    found = false
    for (let isDone = false; !isDone;) {
      const result = await d.storage.counts.fold(LIMIT)
      const { folded, hasMore } = valueOr(d, result, { folded: 0, hasMore: false })
      found ||= folded > 0
      isDone = !hasMore
    }
  }

  return { fold, start: loop.start, stop: loop.stop }
}
