import type { Clock } from '../ports/platform.js'

/** An abort without a reason makes an exception with a stack trace, which takes ten times as long. */
const REASON = 'another time'

/** Calls `ring` at the earliest elapsed time that it was set to. */
export class Alarm {
  readonly #clock: Clock
  readonly #ring: () => void
  #sleep = new AbortController()
  #at: number = Infinity
  #isStopped = false

  /** Does not ring after `stopped`. */
  constructor(clock: Clock, ring: () => void, stopped?: AbortSignal) {
    this.#clock = clock
    this.#ring = ring
    stopped?.addEventListener('abort', () => this.stop(), { once: true })
  }

  /** Ends the sleep until a later time, so that at most one goes on. */
  set(at: number): void {
    if (at >= this.#at || this.#isStopped) return
    this.#at = at
    this.#sleep.abort(REASON)
    this.#sleep = new AbortController()
    const { signal } = this.#sleep
    const ms = Math.max(1, Math.ceil(at - this.#clock.elapsed()))
    void this.#clock.sleep(ms, signal).then(() => {
      if (signal.aborted) return
      this.#at = Infinity
      this.#ring()
    })
  }

  stop(): void {
    this.#isStopped = true
    this.#sleep.abort(REASON)
  }
}
