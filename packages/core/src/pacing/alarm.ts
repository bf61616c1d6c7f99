import type { Clock } from '../ports/platform.js'

/**
 * Calls `ring` at the earliest elapsed time that it was set to. Can ring once more without need.
 */
export class Alarm {
  readonly #clock: Clock
  readonly #ring: () => void
  readonly #stopped = new AbortController()
  #at: number = Infinity

  constructor(clock: Clock, ring: () => void) {
    this.#clock = clock
    this.#ring = ring
  }

  set(at: number): void {
    if (at >= this.#at || this.#stopped.signal.aborted) return
    this.#at = at
    const ms = Math.max(1, Math.ceil(at - this.#clock.elapsed()))
    void this.#clock.sleep(ms, this.#stopped.signal).then(() => {
      if (this.#at === at) this.#at = Infinity
      if (!this.#stopped.signal.aborted) this.#ring()
    })
  }

  stop(): void {
    this.#stopped.abort()
  }
}
