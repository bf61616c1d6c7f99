import type { Fault } from '../checker/history.js'
import type { Timeline } from './timeline.js'

/** The faults of a simulation with their times, for the checker. */
export type FaultLog = {
  readonly all: readonly Fault[]
  /** Records a fault that lasts `ms`. `byMs` is the difference of a clock that jumped. */
  record(kind: string, ms: number, byMs?: number): void
  /** Returns the latency. Records a long one as a fault, because a lease can expire during it. */
  slow(ms: number): number
}

const SLOW_FROM_MS = 1_000

export function createFaultLog(timeline: Timeline): FaultLog {
  const all: Fault[] = []

  function record(kind: string, ms: number, byMs?: number): void {
    all.push({
      kind,
      at: timeline.elapsed,
      until: timeline.elapsed + ms,
      ...(byMs !== undefined && { byMs }),
    })
    timeline.note(`fault: ${kind}, for ${ms} ms${byMs === undefined ? '' : `, by ${byMs} ms`}`)
  }

  return {
    all,
    record,
    slow: (ms) => {
      if (ms >= SLOW_FROM_MS) record('a call is slow', ms)
      return ms
    },
  }
}
