import type { Instant } from '../domain/instant.js'
import type { OverloadPolicy } from '../policy.js'

/** While sends are refused, at least this many writes can wait. */
const LEAST = 40
/** The part of `queueMs` whose commits can wait while sends are refused. */
const REFUSING = 0.2
const WINDOW_MS = 250

/**
 * Refuses sends while more arrive than the storage can commit. Without it, every send would wait
 * for all sends before it, and memory would grow with them.
 *
 * Pure: every method gets the time.
 */
export class SendGate {
  readonly #policy: OverloadPolicy
  /** Sends and answers that wait for their commit. */
  #waiting = 0
  #limit = Infinity
  #refusedAt: Instant = -Infinity
  #lateSince: Instant | undefined
  #window: { readonly start: Instant; ended: number; waitedMs: number }

  constructor(policy: OverloadPolicy, now: Instant) {
    this.#policy = policy
    this.#window = { start: now, ended: 0, waitedMs: 0 }
  }

  /** Returns true if a send is refused now. */
  refuses(now: Instant): boolean {
    if (this.#waiting < this.#limit) return false
    this.#refusedAt = now
    return true
  }

  /** Counts a write of a send or of an answer until it ends. `now` reads the clock. */
  async count<T>(write: PromiseLike<T>, now: () => Instant): Promise<T> {
    const startedAt = now()
    this.#waiting++
    try {
      return await write
    } finally {
      this.#waiting--
      this.#ended(startedAt, now())
    }
  }

  #ended(startedAt: Instant, now: Instant): void {
    const window = this.#window
    window.ended++
    window.waitedMs += now - startedAt
    if (now - window.start >= WINDOW_MS) this.#endWindow(now)
  }

  #endWindow(now: Instant): void {
    const { queueMs, burstMs } = this.#policy
    const { start, ended, waitedMs } = this.#window
    this.#window = { start: now, ended: 0, waitedMs: 0 }
    if (waitedMs <= ended * queueMs) this.#lateSince = undefined
    else this.#lateSince ??= Math.max(start, now - WINDOW_MS)
    const isLate = this.#lateSince !== undefined && now - this.#lateSince >= burstMs
    const hasRefused = now - this.#refusedAt < burstMs
    const atRate = (ended / (now - start)) * queueMs * REFUSING
    this.#limit = isLate || hasRefused ? Math.max(LEAST, atRate) : Infinity
  }
}
