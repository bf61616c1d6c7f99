import type { Outcome, SendingDelivery } from '../domain/delivery.js'
import type { Instant } from '../domain/instant.js'
import type { TraceContext } from '../domain/trace.js'
import type { Webhook } from '../domain/webhook.js'
import type { Lease } from './stored.js'

/** Makes the request of an attempt: signs it, sends it, and tells what came of it. */
export interface AttemptMaker {
  /** Never rejects, and outlives neither the policy's deadline nor the order's lease, after which another process may send it. */
  make(order: AttemptOrder): Promise<MadeAttempt>
}

/** What the request is made of. It is data and nothing else, so that another thread can be asked to make it. */
export type AttemptOrder = {
  readonly delivery: Pick<SendingDelivery, 'id' | 'event'>
  readonly webhook: Pick<Webhook, 'id' | 'url' | 'secret' | 'previousSecret' | 'headers'>
  readonly lease: Pick<Lease, 'until'>
  readonly body: string
  /** Of the event. */
  readonly trace?: TraceContext
}

/**
 * `requestHeaders` is what people may see of them; absent when a secret could not be unsealed, for then nothing was sent, and when it is
 * not known what was.
 */
export type MadeAttempt = {
  readonly startedAt: Instant
  readonly endedAt: Instant
  readonly requestHeaders?: Readonly<Record<string, string>>
  readonly outcome: Outcome
}
