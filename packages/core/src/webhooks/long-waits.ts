import type { Webhook } from '../domain/webhook.js'
import type { WebhookLimit } from '../domain/webhook-limit.js'
import type { Platform } from '../platform.js'
import type { FairQueue } from './fair-queue.js'

/** A webhook whose deliveries wait this long for its own limit is reported once. */
const LONG_MS = 60_000

type Options = Pick<Platform, 'clock' | 'telemetry'> & {
  readonly queue: Pick<FairQueue, 'limited' | 'waitingWebhooks'>
  readonly limitOf: (webhook: Webhook) => WebhookLimit
}

/** Reports the webhooks that wait long for their own limits, with the reason of the limit. */
export class LongWaits {
  readonly #options: Options
  /** The time since which each webhook was limited at every look. Infinity: it was reported. */
  #since = new Map<string, number>()

  constructor(options: Options) {
    this.#options = options
  }

  look(): void {
    const { clock, queue } = this.#options
    const now = clock.elapsed()
    const earlier = this.#since
    this.#since = new Map()
    for (const id of queue.limited) this.#since.set(id, earlier.get(id) ?? now)
    const long = [...this.#since].filter(([, since]) => now - since >= LONG_MS)
    if (long.length === 0) return
    for (const [id] of long) this.#since.set(id, Infinity)
    for (const webhook of queue.waitingWebhooks())
      if (long.some(([id]) => id === webhook.id)) this.#report(webhook)
  }

  #report(webhook: Webhook): void {
    const { id: webhookId, projectId } = webhook
    const { telemetry, limitOf } = this.#options
    const limit = limitOf(webhook)
    telemetry.record({ name: 'webhook.waiting', webhookId, projectId, ...limit })
  }
}
