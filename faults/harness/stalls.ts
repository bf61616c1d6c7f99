import type { Fault } from '../checker/history.js'

const CHECK_EVERY_MS = 100
const STALLED_MS = 1_000

/** Records stalls of the machine as faults, because leases can expire during a stall. */
export function watchStalls(): { stop(): Fault[] } {
  const faults: Fault[] = []
  let last = Date.now()
  const timer = setInterval(() => {
    const now = Date.now()
    if (now - last > STALLED_MS) faults.push({ kind: 'machine stalled', at: last, until: now })
    last = now
  }, CHECK_EVERY_MS)
  return {
    stop: () => {
      clearInterval(timer)
      return faults
    },
  }
}
