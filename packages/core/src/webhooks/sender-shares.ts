import { textHash } from '../domain/values/text-hash.js'
import type { LimitCeiling } from '../domain/webhooks/webhook-limit.js'
import { receiverIdOf, type Webhook } from '../domain/webhooks/webhook.js'
import { createLoop, type Loop } from '../pacing/loop.js'
import { reportUnavailable } from '../pacing/report-unavailable.js'
import type { Platform } from '../platform.js'

const BEAT_MS = 5_000
/** A process that does not beat for this time counts as dead. */
const LEASE_MS = 15_000
/** All other processes know of a process that has joined them after this time. */
const JOIN_MS = LEASE_MS

export type SharesPlatform = Pick<Platform, 'clock' | 'ids' | 'policy' | 'storage' | 'telemetry'>

/**
 * Shares the limits that people set among all processes that send. A process registers when it
 * first meets a webhook with such a limit.
 */
export class SenderShares {
  readonly #platform: SharesPlatform
  readonly #onBeat: () => void
  readonly #loop: Loop
  readonly #id: string
  /** The ids of all registered processes, in the same order for each of them. */
  #members: readonly string[] = []
  /** The elapsed time at which this process joined others. -Infinity: it was alone. */
  #joinedAt = Infinity
  #beatAt = -Infinity
  #phase: 'unused' | 'running' | 'stopped' = 'unused'

  /** `onBeat` is called when the shares can have changed. */
  constructor(platform: SharesPlatform, onBeat: () => void) {
    this.#platform = platform
    this.#onBeat = onBeat
    this.#id = platform.ids.next()
    this.#loop = createLoop(platform, 'sender shares', BEAT_MS, () => this.#beat())
  }

  /** Returns this process's share of the webhook's limits. Undefined: it must not send now. */
  of(webhook: Webhook): LimitCeiling | undefined {
    const { concurrency, requestsPerSecond } = this.whole(webhook)
    if (concurrency === undefined && requestsPerSecond === undefined) return UNLIMITED
    this.#start()
    const timeoutMs = webhook.sending?.timeoutMs ?? this.#platform.policy.deliver.deadlineMs
    if (!this.#isReady(timeoutMs)) return undefined
    const slots =
      concurrency === undefined ? Infinity : this.#slots(concurrency, receiverIdOf(webhook))
    if (slots === 0) return undefined
    const rate = (requestsPerSecond ?? Infinity) / this.#members.length
    return {
      ...(slots !== Infinity && { concurrency: slots }),
      ...(rate !== Infinity && { requestsPerSecond: rate }),
    }
  }

  /** Returns the webhook's limits over all processes. */
  whole({ sending }: Webhook): LimitCeiling {
    const { deliver } = this.#platform.policy
    const concurrency = sending?.maxConcurrency ?? deliver.maxConcurrency
    const requestsPerSecond = sending?.requestsPerSecond ?? deliver.requestsPerSecond
    return {
      ...(concurrency !== undefined && { concurrency }),
      ...(requestsPerSecond !== undefined && { requestsPerSecond }),
    }
  }

  /** Leaves, so that the others do not wait for the end of the lease. */
  async stop(): Promise<void> {
    const wasRunning = this.#phase === 'running'
    this.#phase = 'stopped'
    await this.#loop.stop()
    if (wasRunning) await this.#register(0)
  }

  /** Requests that the others started under their earlier shares have ended. */
  #isReady(timeoutMs: number): boolean {
    const now = this.#platform.clock.elapsed()
    return now >= this.#joinedAt + JOIN_MS + timeoutMs && now < this.#beatAt + LEASE_MS
  }

  #start(): void {
    if (this.#phase !== 'unused') return
    this.#phase = 'running'
    this.#loop.start()
  }

  #slots(all: number, webhookId: string): number {
    return slotsOf(all, webhookId, this.#id, this.#members)
  }

  async #beat(): Promise<void> {
    const now = this.#platform.clock.elapsed()
    const registered = await this.#register(LEASE_MS)
    if (!registered.ok) return reportUnavailable(this.#platform, registered.error)
    this.#members = registered.value
    const wasAway = now >= this.#beatAt + LEASE_MS
    if (wasAway) this.#joinedAt = this.#members.length === 1 ? -Infinity : now
    this.#beatAt = now
    this.#onBeat()
  }

  #register(leaseMs: number) {
    const { clock, storage } = this.#platform
    const now = clock.now()
    return storage.deliveries.registerSender({ id: this.#id, now, until: now + leaseMs })
  }
}

const UNLIMITED: LimitCeiling = {}

/**
 * Returns the slots of one process. The remainder goes to the first processes, in an order that
 * differs from webhook to webhook. A process that joins makes no other share larger, and one that
 * leaves makes none smaller. So the limit holds while processes differ in the members they know.
 */
export function slotsOf(
  all: number,
  webhookId: string,
  id: string,
  members: readonly string[],
): number {
  const own = orderOf(webhookId, id)
  const ahead = members.filter((other) => {
    const place = orderOf(webhookId, other)
    return place < own || (place === own && other < id)
  })
  const isFirst = ahead.length < all % members.length
  return Math.floor(all / members.length) + (isFirst ? 1 : 0)
}

const orderOf = (webhookId: string, id: string): number => textHash(id + webhookId)
