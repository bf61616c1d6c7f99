import { receiverIdOf, type Webhook } from '../domain/webhooks/webhook.js'
import type { Platform } from '../platform.js'
import type { FairQueue } from './fair-queue.js'
import type { Receivers } from './receivers.js'

/** A webhook whose deliveries wait this long for its own limit is reported once. */
const LONG_MS = 60_000

/** Reports the webhooks that wait long for their own limits, with the reason of the limit. */
export class LongWaits {
  readonly #platform: Pick<Platform, 'clock' | 'telemetry'>
  readonly #queue: FairQueue
  readonly #receivers: Receivers
  /** The time since which each webhook was limited at every look. Infinity: it was reported. */
  #since = new Map<string, number>()

  constructor(
    platform: Pick<Platform, 'clock' | 'telemetry'>,
    queue: FairQueue,
    receivers: Receivers,
  ) {
    this.#platform = platform
    this.#queue = queue
    this.#receivers = receivers
  }

  look(): void {
    const now = this.#platform.clock.elapsed()
    const earlier = this.#since
    this.#since = new Map()
    for (const id of this.#queue.limited) this.#since.set(id, earlier.get(id) ?? now)
    const long = [...this.#since].filter(([, since]) => now - since >= LONG_MS)
    if (long.length === 0) return
    for (const [id] of long) this.#since.set(id, Infinity)
    for (const webhook of this.#queue.waitingWebhooks())
      if (long.some(([id]) => id === receiverIdOf(webhook))) this.#report(webhook)
  }

  #report(webhook: Webhook): void {
    const { id: webhookId, projectId } = webhook
    const limit = this.#receivers.limitOf(webhook)
    this.#platform.telemetry.record({ name: 'webhook.waiting', webhookId, projectId, ...limit })
  }
}
