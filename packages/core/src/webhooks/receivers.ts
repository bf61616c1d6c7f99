import type { LimitCeiling } from '../domain/webhook-limit.js'
import type { Webhook } from '../domain/webhook.js'
import type { Clock } from '../ports/platform.js'
import { AdaptiveLimit } from './adaptive-limit.js'
import { RecentAttempts } from './recent-attempts.js'

/** The findings of this process about the receiver of one webhook. */
export type Receiver = {
  readonly limit: AdaptiveLimit
  readonly recent: RecentAttempts
  /** The URL that the limit is about. */
  url: string
}

/** More webhooks than one process sends to at a time. Beyond that, old receivers are forgotten. */
const MOST_RECEIVERS = 10_000

type Options = {
  readonly clock: Pick<Clock, 'now'>
  readonly mostSlots: number
  readonly ceilingOf: (webhook: Webhook) => LimitCeiling
}

/** The receivers that this process sends to, by webhook. */
export class Receivers {
  readonly #options: Options
  /** Receivers that were unused for long come first. */
  readonly #receivers = new Map<string, Receiver>()

  constructor(options: Options) {
    this.#options = options
  }

  /** Returns the receiver, under the present settings of its webhook. */
  of(webhook: Webhook): Receiver {
    const { clock, mostSlots, ceilingOf } = this.#options
    const known = this.#receivers.get(webhook.id)
    const receiver = known ?? {
      limit: new AdaptiveLimit(mostSlots, clock.now()),
      recent: new RecentAttempts(),
      url: webhook.url,
    }
    receiver.limit.ceiling = ceilingOf(webhook)
    // The order counts only when many are known. Each change of the order copies a table.
    if (this.#receivers.size > MOST_RECEIVERS / 2) this.#receivers.delete(webhook.id)
    if (!this.#receivers.has(webhook.id)) this.#receivers.set(webhook.id, receiver)
    if (this.#receivers.size > MOST_RECEIVERS) this.#forgetOldest()
    return receiver
  }

  /** Forgets the limit that another receiver had, if the webhook has a new URL. */
  update({ id, url }: Webhook): void {
    const receiver = this.#receivers.get(id)
    if (!receiver || receiver.url === url) return
    receiver.url = url
    receiver.limit.restart(this.#options.clock.now(), 'receiver')
  }

  find(webhookId: string): Receiver | undefined {
    return this.#receivers.get(webhookId)
  }

  all(): Iterable<Receiver> {
    return this.#receivers.values()
  }

  forget(webhookId: string): void {
    this.#receivers.delete(webhookId)
  }

  #forgetOldest(): void {
    const [oldest] = this.#receivers.keys()
    if (oldest !== undefined) this.#receivers.delete(oldest)
  }
}
