import { MIN_JUMP_MS, type ClockJump } from '../domain/clock-jump.js'
import type { Instant } from '../domain/instant.js'
import type { Clock } from '../ports/platform.js'

/** A pause between two readings of the clocks means that this process was stopped in between. */
const SAME_MOMENT_MS = 100

/**
 * A clock whose time of day never jumps while work depends on it. When the base clock jumps, `now`
 * first continues as before. It follows the jump once `onJump` has resolved: then the leases and
 * due times in the storage have moved with it.
 */
export class SteadyClock implements Clock {
  readonly #base: Clock
  readonly #onJump: (jump: ClockJump) => Promise<unknown>
  #jumping: Promise<void> | undefined
  /** The time of day minus the elapsed time. */
  #offset: number

  /** `onJump` must not reject. */
  constructor(base: Clock, onJump: (jump: ClockJump) => Promise<unknown>) {
    this.#base = base
    this.#onJump = onJump
    const { now, elapsed } = this.#read()
    this.#offset = now - elapsed
  }

  readonly now = (): Instant => {
    const { now, elapsed } = this.#read()
    const offset = now - elapsed
    if (!this.#jumping && Math.abs(offset - this.#offset) < MIN_JUMP_MS) {
      this.#offset = offset
      return now
    }
    const steady = Math.floor(elapsed + this.#offset)
    this.#jumping ??= this.#jump({ from: steady, to: now })
    return steady
  }

  /**
   * Resolves when the storage has followed a jump. Undefined without one. Wait for it before a
   * claim: another process can have moved the stored times already.
   */
  get jumping(): Promise<void> | undefined {
    this.now()
    return this.#jumping
  }

  elapsed(): number {
    return this.#base.elapsed()
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return this.#base.sleep(ms, signal)
  }

  /** Reads both clocks at one moment. */
  #read(): { readonly now: Instant; readonly elapsed: number } {
    for (;;) {
      const elapsed = this.#base.elapsed()
      const now = this.#base.now()
      if (this.#base.elapsed() - elapsed < SAME_MOMENT_MS) return { now, elapsed }
    }
  }

  async #jump(jump: ClockJump): Promise<void> {
    await this.#onJump(jump)
    this.#offset += jump.to - jump.from
    this.#jumping = undefined
  }
}
