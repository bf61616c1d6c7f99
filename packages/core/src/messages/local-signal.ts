import type { Message } from '../domain/message.js'
import type { ResponseSignal } from '../ports/response-signal.js'

type Hear = (message: Message | undefined) => void

/** Wakes listeners of this process, at once and with the message at hand. */
export function localSignal(): ResponseSignal {
  /** Most messages have one listener, who stands there without a set around it. */
  const listeners = new Map<string, Hear | Set<Hear>>()

  function remove(messageId: string, hear: Hear): void {
    const those = listeners.get(messageId)
    if (those instanceof Set) those.delete(hear)
    if (those === hear || (those instanceof Set && those.size === 0)) listeners.delete(messageId)
  }

  return {
    notify: (message) => {
      const those = listeners.get(message.id)
      for (const hear of those instanceof Set ? those : those ? [those] : []) hear(message)
    },
    listen: (messageId, hear) => {
      const those = listeners.get(messageId)
      if (!those) listeners.set(messageId, hear)
      else if (those instanceof Set) those.add(hear)
      else listeners.set(messageId, new Set([those, hear]))
      return () => remove(messageId, hear)
    },
  }
}
