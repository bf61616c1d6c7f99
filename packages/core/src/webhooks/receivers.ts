import type { LimitCeiling, LimitReason, WebhookLimit } from '../domain/webhooks/webhook-limit.js'
import { receiverIdOf, type Webhook } from '../domain/webhooks/webhook.js'
import { AdaptiveLimit, firstSlots } from './adaptive-limit.js'
import type { WorkPhase } from '../pacing/work-loop.js'
import { RecentAttempts } from './recent-attempts.js'
import { SenderShares, type SharesPlatform } from './sender-shares.js'

/** The findings of this process about one receiver, as `receiverIdOf` tells them apart. */
export type Receiver = {
  readonly limit: AdaptiveLimit
  readonly recent: RecentAttempts
  /** The URL that the limit is about. */
  url: string
}

/** More webhooks than one process sends to at a time. Beyond that, old receivers are forgotten. */
const MOST_RECEIVERS = 10_000

/** The webhook is looked at again after `until`: news of a change can get lost. */
type Closed = { readonly webhook: Webhook; readonly until: number }
const CLOSED_MS = 60_000

/**
 * The receivers that this process sends to, by webhook, with their limits: the share of this process
 * of what people set, and what the receiver takes. A webhook is closed if its limit leaves nothing
 * to this process.
 */
export class Receivers {
  readonly #platform: SharesPlatform
  readonly #phase: () => WorkPhase
  readonly #shares: SenderShares
  /** Receivers that were unused for long come first. */
  readonly #receivers = new Map<string, Receiver>()
  readonly #closed = new Map<string, Closed>()

  /** `changed` is called when the shares of this process can have changed. */
  constructor(platform: SharesPlatform, phase: () => WorkPhase, changed: () => void) {
    this.#platform = platform
    this.#phase = phase
    this.#shares = new SenderShares(platform, changed)
  }

  /** Counts the webhooks that this process sent to, by the reason of their limits. */
  get reasons(): Record<LimitReason, number> {
    const counts = { growing: 0, refusals: 0, slots: 0, setting: 0, circuit: 0 }
    for (const { limit } of this.#receivers.values()) counts[limit.snapshot().reason]++
    counts.setting += this.#closed.size
    return counts
  }

  /** Returns the limit of a webhook in this process. */
  limitOf(webhook: Webhook): WebhookLimit {
    const { health, sending } = webhook
    const id = receiverIdOf(webhook)
    const { maxInFlight, maxConcurrency = Infinity } = this.#platform.policy.deliver
    const first = firstSlots(maxInFlight)
    const set = sending?.maxConcurrency ?? maxConcurrency
    const unused: WebhookLimit = {
      concurrency: Math.min(first, set),
      reason: set < first ? 'setting' : 'growing',
    }
    const shown = this.#closed.has(id)
      ? ({ concurrency: 0, reason: 'setting' } as const)
      : (this.find(id)?.limit.snapshot() ?? unused)
    return health.circuit.kind === 'open' ? { ...shown, reason: 'circuit' } : shown
  }

  /** Returns the receiver, under the present settings of its webhook. */
  of(webhook: Webhook): Receiver {
    const { clock, policy } = this.#platform
    const id = receiverIdOf(webhook)
    const known = this.#receivers.get(id)
    const receiver = known ?? {
      limit: new AdaptiveLimit(policy.deliver.maxInFlight, clock.elapsed()),
      recent: new RecentAttempts(),
      url: webhook.url,
    }
    receiver.limit.ceiling = this.#shareOf(webhook) ?? {}
    // The order counts only when many are known. Each change of the order copies a table.
    if (this.#receivers.size > MOST_RECEIVERS / 2) this.#receivers.delete(id)
    if (!this.#receivers.has(id)) this.#receivers.set(id, receiver)
    if (this.#receivers.size > MOST_RECEIVERS) this.#forgetOldest()
    return receiver
  }

  /** Forgets the limit that another receiver had, if the webhook has a new URL. */
  update({ id, url }: Webhook): void {
    const receiver = this.#receivers.get(id)
    if (!receiver || receiver.url === url) return
    receiver.url = url
    receiver.limit.restart(this.#platform.clock.elapsed(), 'receiver')
  }

  find(id: string): Receiver | undefined {
    return this.#receivers.get(id)
  }

  forget(id: string): void {
    this.#receivers.delete(id)
  }

  get hasClosed(): boolean {
    return this.#closed.size > 0
  }

  isClosed(id: string): boolean {
    return this.#closed.has(id)
  }

  /** Closes the webhook if its limit leaves nothing to this process. Returns whether it did. */
  close(webhook: Webhook): boolean {
    if (this.#shareOf(webhook) !== undefined) return false
    const until = this.#platform.clock.elapsed() + CLOSED_MS
    this.#closed.set(receiverIdOf(webhook), { webhook, until })
    return true
  }

  open(id: string): void {
    this.#closed.delete(id)
  }

  /** Returns the closed webhooks whose limit can leave something to this process by now. */
  reopened(): string[] {
    const now = this.#platform.clock.elapsed()
    return [...this.#closed].flatMap(([id, { webhook, until }]) =>
      until <= now || this.#shareOf(webhook) !== undefined ? id : [],
    )
  }

  /** Leaves the shares to other processes. */
  stop(): Promise<void> {
    return this.#shares.stop()
  }

  /** A pass of a host without timers counts as the only process. */
  #shareOf(webhook: Webhook): LimitCeiling | undefined {
    return this.#phase() === 'stopped' ? this.#shares.whole(webhook) : this.#shares.of(webhook)
  }

  #forgetOldest(): void {
    const [oldest] = this.#receivers.keys()
    if (oldest !== undefined) this.#receivers.delete(oldest)
  }
}
