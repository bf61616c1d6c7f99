import type { Message } from '../domain/message.js'
import type { ResponseSignal } from '../ports/response-signal.js'

/** Wakes listeners of this process, at once and with the message at hand. */
export function localSignal(): ResponseSignal {
  const listeners = new Map<string, Set<(message: Message | undefined) => void>>()
  return {
    notify: (message) => {
      for (const hear of listeners.get(message.id) ?? []) hear(message)
    },
    listen: (messageId, hear) => {
      const hearers = listeners.get(messageId) ?? new Set()
      listeners.set(messageId, hearers.add(hear))
      return () => {
        hearers.delete(hear)
        if (hearers.size === 0) listeners.delete(messageId)
      }
    },
  }
}
