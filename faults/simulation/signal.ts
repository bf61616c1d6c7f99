import type { ResponseSignal, WaitingWork, WorkSignal } from '@org/agent-messaging-core/storage'
import { latency, type FailureRates } from './failure-rates.js'
import type { Owner, Timeline } from './timeline.js'

type Listener = { readonly owner: Owner; readonly hear: Parameters<ResponseSignal['listen']>[1] }

/** Wakes waiting callers: immediately in the same process, later or never in others. */
export function sharedSignal(
  timeline: Timeline,
  rates: FailureRates,
): (owner: Owner) => ResponseSignal {
  const listeners = new Map<string, Set<Listener>>()
  return (owner) => ({
    notify: (message) => {
      for (const { owner: other, hear } of listeners.get(message.id) ?? []) {
        if (other === owner) hear(message)
        else if (!timeline.dice.chance(rates.networkFails))
          timeline.after(latency(timeline.dice, rates), () => hear(undefined), other)
      }
    },
    listen: (messageId, hear) => {
      const listener = { owner, hear }
      const all = listeners.get(messageId) ?? new Set()
      listeners.set(messageId, all.add(listener))
      return () => void all.delete(listener)
    },
  })
}

/** Announces work to each process after a latency, or never. */
export function sharedWorkSignal(
  timeline: Timeline,
  rates: FailureRates,
): (owner: Owner) => WorkSignal {
  const all = new Set<{ readonly owner: Owner; readonly hear: (work: WaitingWork) => void }>()
  return (owner) => ({
    announce: (work) => {
      for (const { owner: other, hear } of all)
        if (!timeline.dice.chance(rates.networkFails))
          timeline.after(latency(timeline.dice, rates), () => hear(work), other)
    },
    onAnnounced: (hear) => {
      const listener = { owner, hear }
      all.add(listener)
      return () => void all.delete(listener)
    },
  })
}
