import type { WaitingWork, WorkSignal } from '@org/agent-messaging-core/storage'

/**
 * Carries announcements between services in one process, such as services that share a
 * `memoryStorage`.
 */
export function memoryWorkSignal(): WorkSignal {
  const listeners = new Set<(work: WaitingWork) => void>()
  return {
    announce: (work) => {
      for (const listener of listeners) listener(work)
    },
    onAnnounced: (listen) => {
      // A new function, because the same one can be registered twice.
      const listener = (work: WaitingWork): void => listen(work)
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
  }
}
