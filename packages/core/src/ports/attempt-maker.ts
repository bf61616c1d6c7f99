import type { Outcome, SendingDelivery } from '../domain/webhooks/delivery.js'
import type { Instant } from '../domain/values/instant.js'
import type { TraceContext } from '../domain/messages/trace.js'
import type { Webhook } from '../domain/webhooks/webhook.js'
import type { Lease } from './stored.js'

/** Signs and sends the request of one attempt. */
export interface AttemptMaker {
  /**
   * Starts the maker if it needs a start. Returns undefined if `make` can send at once. Otherwise
   * the promise resolves when it can. Deliveries wait for it in the sender's queue, where a change
   * of their webhook still reaches them.
   */
  starting(): Promise<void> | undefined
  /**
   * Never rejects. Ends before the webhook's timeout and before the order's lease, because another
   * process can send the delivery after that.
   *
   * With `canWait`, the result of an accepted delivery can come up to 40 ms later, so that a thread
   * returns several results at once.
   */
  make(order: AttemptOrder, canWait?: boolean): Promise<MadeAttempt>
}

/** The data of one request. It contains no functions, so another thread can make the attempt. */
export type AttemptOrder = {
  readonly delivery: Pick<SendingDelivery, 'id' | 'event'>
  readonly webhook: Pick<
    Webhook,
    'id' | 'url' | 'secret' | 'previousSecret' | 'headers' | 'sending' | 'hook'
  >
  readonly lease: Pick<Lease, 'until'>
  readonly body: string
  /** The context of this attempt, for its headers. */
  readonly trace?: TraceContext | undefined
}

/**
 * `requestHeaders` are the headers that people can see. They are absent if a secret could not be
 * decrypted, because nothing was sent, and if it is unknown which headers were sent.
 */
export type MadeAttempt = {
  readonly startedAt: Instant
  readonly endedAt: Instant
  readonly requestHeaders?: Readonly<Record<string, string>>
  readonly outcome: Outcome
}
