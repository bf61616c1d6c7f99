import type { EventNews } from '../ports/event-news.js'
import type { WorkSignal } from '../ports/work-signal.js'

/** Tells this process at once, and the others through the work signal. */
export function eventNews(workSignal: WorkSignal): EventNews {
  const hearers = new Set<(projectId: string) => void>()
  return {
    committed: (projectId) => {
      for (const hear of hearers) hear(projectId)
      workSignal.announce({ kind: 'events', projectId })
    },
    listen: (hear) => {
      hearers.add(hear)
      const stop = workSignal.onAnnounced((work) => {
        if (work.kind === 'events') hear(work.projectId)
      })
      return () => {
        hearers.delete(hear)
        stop()
      }
    },
  }
}
