import type { Fault } from '../checker/history.js'
import type { World } from './world.js'

/** What went wrong, and until when, for the checker to know what may have followed from it. */
export type Faults = {
  readonly all: readonly Fault[]
  /** From now on for `ms`. `byMs`: how far the clock is off since then. */
  brief(kind: string, ms: number, byMs?: number): void
  /** Hands the wait on; one that is as long as a part of a lease is a fault. */
  slow(ms: number): number
}

const SLOW_FROM_MS = 1_000

export function createFaults(world: World): Faults {
  const all: Fault[] = []

  function brief(kind: string, ms: number, byMs?: number): void {
    all.push({
      kind,
      at: world.elapsed,
      until: world.elapsed + ms,
      ...(byMs !== undefined && { byMs }),
    })
    world.note(`fault: ${kind}, for ${ms} ms${byMs === undefined ? '' : `, by ${byMs} ms`}`)
  }

  return {
    all,
    brief,
    slow: (ms) => {
      if (ms >= SLOW_FROM_MS) brief('something is slow', ms)
      return ms
    },
  }
}
