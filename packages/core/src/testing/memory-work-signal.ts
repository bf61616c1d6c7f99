import type { WaitingWork, WorkSignal } from '../ports/work-signal.js'

/** Carries announcements between services in one process at once, such as those of a test that are on one `memoryStorage`. */
export function memoryWorkSignal(): WorkSignal {
  const hearers = new Set<(work: WaitingWork) => void>()
  return {
    announce: (work) => {
      for (const hear of hearers) hear(work)
    },
    onAnnounced: (hear) => {
      const mine = (work: WaitingWork): void => hear(work)
      hearers.add(mine)
      return () => void hearers.delete(mine)
    },
  }
}
