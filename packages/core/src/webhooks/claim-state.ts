import type { DeliverPolicy } from '../policy.js'
import type { ClaimDue } from '../ports/delivery-store.js'
import { claimShare, retryShare } from './fair-queue.js'

/** The most that one claim takes: in all, of each webhook, of each project, and of retries. */
type ClaimBounds = Pick<ClaimDue, 'limit' | 'perWebhook' | 'perProject' | 'retries'>

/** The deliveries that wait in this process. `room`: how many more it can hold. */
type Held = {
  readonly room: number
  readonly waiting: number
  readonly waitingRetries: number
  /** Webhooks and projects of which this process takes no more now. */
  readonly except: ReadonlySet<string>
}

/**
 * Decides when this process claims due deliveries, and how many. `claiming, slot freed`: the
 * running claim does not know of the slot, so the process looks again after the claim.
 */
export class ClaimState {
  readonly #policy: Pick<DeliverPolicy, 'prefetch'>
  readonly #held: Held
  #state: 'idle' | 'claiming' | 'claiming, slot freed' = 'idle'
  /** More deliveries can be due than this process holds. */
  #moreDue = false
  /** Excepted webhooks and projects of which more deliveries can be due. */
  readonly #skipped = new Set<string>()

  constructor(policy: Pick<DeliverPolicy, 'prefetch'>, held: Held) {
    this.#policy = policy
    this.#held = held
  }

  /**
   * True if the process claims now. A claim waits until half of the prefetched deliveries have
   * started: large claims at a low level keep the senders waiting.
   */
  get isDue(): boolean {
    const isLow = this.#held.waiting < this.#policy.prefetch / 2
    return this.#state === 'idle' && this.#moreDue && isLow
  }

  get isMoreDue(): boolean {
    return this.#moreDue
  }

  /** The bounds of a claim that begins now. */
  get bounds(): ClaimBounds {
    const share = claimShare(this.#policy)
    const retries = Math.max(0, retryShare(this.#policy.prefetch) - this.#held.waitingRetries)
    return { limit: this.#held.room, perWebhook: share, perProject: share, retries }
  }

  begin(): void {
    this.#state = 'claiming'
    this.#moreDue = false
    this.#skipped.clear()
    for (const id of this.#held.except) this.#skipped.add(id)
  }

  /**
   * Ends the claim. Returns true if a slot became free during it. A claim that stays below every
   * bound has taken all that is due, except of webhooks without room, and retries when it asked for
   * none.
   */
  end({ limit, perProject, retries }: ClaimBounds, claimed: number): boolean {
    const reached = claimed > 0 && claimed >= Math.min(limit, perProject, retries)
    this.#moreDue ||= retries === 0 || reached
    const hasSlot = this.#state === 'claiming, slot freed'
    this.#state = 'idle'
    return hasSlot
  }

  slotFreed(): void {
    if (this.#state === 'claiming') this.#state = 'claiming, slot freed'
  }

  /** More deliveries can be due. */
  found(): void {
    this.#moreDue = true
  }

  /** More deliveries of these webhooks and projects can be due. They had no room. */
  skip(ids: readonly string[]): void {
    for (const id of ids) {
      if (this.#held.except.has(id)) this.#skipped.add(id)
      else this.#moreDue = true
    }
  }

  /** The webhook or project has room again. */
  opened(id: string): void {
    if (this.#skipped.delete(id)) this.#moreDue = true
  }
}
