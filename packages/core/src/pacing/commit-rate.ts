const WINDOW_MS = 250

/** Measures how much work ends per millisecond. Pure: every method gets the time. */
export class CommitRate {
  #start: number
  #ended = 0
  #last = 0

  constructor(now: number) {
    this.#start = now
  }

  ended(now: number): void {
    this.#ended++
    if (now - this.#start >= WINDOW_MS) this.#endWindow(now)
  }

  /** The rate of the last window, or of the present one if that is higher. */
  perMs(now: number): number {
    if (now - this.#start >= 2 * WINDOW_MS) this.#endWindow(now)
    return Math.max(this.#last, this.#ended / WINDOW_MS)
  }

  #endWindow(now: number): void {
    this.#last = this.#ended / (now - this.#start)
    this.#start = now
    this.#ended = 0
  }
}
