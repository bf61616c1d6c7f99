import type { Instant } from '../domain/instant.js'

/** A late start is made up for if it is this late at most. Timers are that exact. */
const SLACK_MS = 10

/** Spaces the starts of requests evenly. */
export class Pace {
  #nextAt: Instant = -Infinity

  /** Returns the time until the next start at this rate. 0: a request can start now. */
  waitMs(perSecond: number, now: Instant): number {
    // A clock that was set back must not hold the requests for longer than one gap.
    return Math.max(0, Math.min(this.#nextAt - now, 1_000 / perSecond))
  }

  started(perSecond: number, now: Instant): void {
    const isOnTime = Math.abs(now - this.#nextAt) <= SLACK_MS
    this.#nextAt = (isOnTime ? this.#nextAt : now) + 1_000 / perSecond
  }

  /** Takes back the last start: nothing was sent. */
  notSent(perSecond: number): void {
    this.#nextAt -= 1_000 / perSecond
  }
}
