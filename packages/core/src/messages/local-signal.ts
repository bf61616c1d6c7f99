import { ShortLivedMap } from '../domain/values/short-lived-map.js'
import type { Message } from '../domain/messages/message.js'
import type { ResponseSignal } from '../ports/response-signal.js'

type Hear = (message: Message | undefined) => void

/** Brings messages to the listeners of this process. */
export function localSignal(): ResponseSignal {
  /** Most messages have one listener. It takes no set. */
  const listeners = new ShortLivedMap<string, Hear | Set<Hear>>()

  function remove(messageId: string, hear: Hear): void {
    const found = listeners.get(messageId)
    if (found instanceof Set) found.delete(hear)
    if (found === hear || (found instanceof Set && found.size === 0)) listeners.delete(messageId)
  }

  return {
    notify: (message) => {
      const found = listeners.get(message.id)
      if (found instanceof Set) for (const hear of found) hear(message)
      else found?.(message)
    },
    listen: (messageId, hear) => {
      const found = listeners.get(messageId)
      if (!found) listeners.set(messageId, hear)
      else if (found instanceof Set) found.add(hear)
      else listeners.set(messageId, new Set([found, hear]))
      return () => remove(messageId, hear)
    },
  }
}
