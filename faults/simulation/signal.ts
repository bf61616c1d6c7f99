import type { ResponseSignal, WaitingWork, WorkSignal } from '@org/agent-messaging-core/storage'
import { latency, type Weather } from './weather.js'
import type { Owner, World } from './world.js'

type Listener = { readonly owner: Owner; readonly hear: Parameters<ResponseSignal['listen']>[1] }

/** Wakes who waits in the process itself at once, and who waits in others after a moment, or not at all. */
export function sharedSignal(world: World, weather: Weather): (owner: Owner) => ResponseSignal {
  const listeners = new Map<string, Set<Listener>>()
  return (owner) => ({
    notify: (message) => {
      for (const { owner: other, hear } of listeners.get(message.id) ?? []) {
        if (other === owner) hear(message)
        else if (!world.dice.chance(weather.networkFails))
          world.after(latency(world.dice, weather), () => hear(undefined), other)
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

/** Tells each process of work after a moment, or not at all. */
export function sharedWorkSignal(world: World, weather: Weather): (owner: Owner) => WorkSignal {
  const all = new Set<{ readonly owner: Owner; readonly hear: (work: WaitingWork) => void }>()
  return (owner) => ({
    announce: (work) => {
      for (const { owner: other, hear } of all)
        if (!world.dice.chance(weather.networkFails))
          world.after(latency(world.dice, weather), () => hear(work), other)
    },
    onAnnounced: (hear) => {
      const listener = { owner, hear }
      all.add(listener)
      return () => void all.delete(listener)
    },
  })
}
