import type { Message } from '../domain/message.js'

/**
 * Wakes those that wait for a message's answer. It may lose a wake-up: every listener also polls (S§8).
 * Listeners hear what is notified after `listen` returned.
 */
export interface ResponseSignal {
  notify(message: Message): void
  /** `hear` gets the message itself where it is at hand, and undefined where only the wake-up came through. */
  listen(messageId: string, hear: (message: Message | undefined) => void): () => void
}
