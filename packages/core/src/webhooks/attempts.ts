import { isInterrupted } from '../domain/webhooks/delivery.js'
import { IdleWaits } from '../pacing/idle-waits.js'
import type { WorkPhase } from '../pacing/work-loop.js'
import type { Platform } from '../platform.js'
import type { ClaimedDelivery } from '../ports/delivery-store.js'
import {
  endAttempt,
  makeAttempt,
  recordAttempt,
  type FinishedAttempt,
  type Recorded,
} from './attempt.js'
import { AttemptRecords } from './attempt-records.js'
import type { RecentAttempts } from './recent-attempts.js'

/** The attempts of this process. An attempt begins with its request and ends after its record. */
export class Attempts {
  readonly #platform: Platform
  readonly #phase: () => WorkPhase
  readonly #records: AttemptRecords
  /** Attempts that began and are not stored. A crash repeats them. */
  #unrecorded = 0
  #maker: 'ready' | 'starting' = 'ready'
  readonly #idle = new IdleWaits(() => this.#unrecorded === 0)

  constructor(platform: Platform, phase: () => WorkPhase) {
    this.#platform = platform
    this.#phase = phase
    this.#records = new AttemptRecords(platform)
  }

  /**
   * True if an attempt can begin. Calls `ready` when the maker has started: a delivery that it held
   * before would miss changes of its webhook.
   */
  canBegin(ready: () => void): boolean {
    const { attempts, policy } = this.#platform
    if (this.#unrecorded >= 2 * policy.deliver.maxInFlight) return false
    const starting = attempts.starting()
    if (!starting) return true
    if (this.#maker === 'ready')
      void starting.then(() => {
        this.#maker = 'ready'
        ready()
      })
    this.#maker = 'starting'
    return false
  }

  begin(): void {
    this.#unrecorded++
  }

  end(): void {
    this.#unrecorded--
    this.#idle.tell()
  }

  /** Resolves when no attempt is under way. Records do not wait for others any more. */
  idle(): Promise<void> {
    this.#records.flush()
    return this.#idle.wait()
  }

  /**
   * Returns undefined if the delivery must be released: its lease is too short, or a stop or the end
   * of the lease interrupted the attempt. That costs neither the webhook's health nor a step of the
   * schedule. The result of an accepted delivery waits for others if neither a slot nor the next
   * delivery, nor an open circuit waits for it.
   */
  async make(
    claimed: ClaimedDelivery,
    recent: RecentAttempts,
    hasSpareSlots: boolean,
  ): Promise<FinishedAttempt | undefined> {
    const { clock, policy } = this.#platform
    const { lease, webhook } = claimed
    const timeoutMs = webhook.sending?.timeoutMs ?? policy.deliver.deadlineMs
    if (lease.until < clock.now() + timeoutMs) return undefined
    const canWait =
      hasSpareSlots &&
      claimed.delivery.orderKey === undefined &&
      webhook.health.circuit.kind === 'closed' &&
      this.#phase() === 'running'
    const finished = await makeAttempt(this.#platform, claimed, recent, canWait)
    const { outcome, startedAt } = finished.record.attempt
    const isOurs = this.#phase() === 'draining' || startedAt >= lease.until
    if (!isOurs || !isInterrupted(outcome)) return finished
    endAttempt(finished)
    return undefined
  }

  /** Stores the attempt. The webhook, a next delivery or a stop can wait for the record. */
  record(finished: FinishedAttempt): Promise<Recorded> {
    const { claimed, record } = finished
    const isAwaited =
      record.decideHealth !== undefined ||
      record.outgoing !== undefined ||
      claimed.delivery.orderKey !== undefined ||
      this.#phase() !== 'running'
    return recordAttempt(this.#platform, finished, this.#records, isAwaited)
  }
}
