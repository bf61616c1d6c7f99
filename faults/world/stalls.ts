import type { Fault } from '../checker/history.js'

const BEAT_MS = 100
const STALLED_MS = 1_000

/** A machine that has no time for us has none for the servers either: leases may lapse then, and that is a fault like others. */
export function watchStalls(): { stop(): Fault[] } {
  const faults: Fault[] = []
  let last = Date.now()
  const timer = setInterval(() => {
    const now = Date.now()
    if (now - last > STALLED_MS) faults.push({ kind: 'machine stalled', at: last, until: now })
    last = now
  }, BEAT_MS)
  return {
    stop: () => {
      clearInterval(timer)
      return faults
    },
  }
}
