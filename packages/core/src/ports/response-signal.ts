import type { Message } from '../domain/messages/message.js'

/**
 * Wakes callers that wait for a message's answer. A wake-up can get lost: every listener also
 * polls. A listener hears notifications from the return of `listen` on.
 */
export interface ResponseSignal {
  notify(message: Message): void
  /**
   * Calls `hear` with the message, or with undefined if only the wake-up arrived. Returns a
   * function that stops listening.
   */
  listen(messageId: string, hear: (message: Message | undefined) => void): () => void
}
