import { MIN_JUMP_MS, type ClockJump } from '../domain/operations/clock-jump.js'
import type { Instant } from '../domain/values/instant.js'
import type { Platform } from '../platform.js'
import type { Clock } from '../ports/platform.js'
import { retryUntilStored } from './retry-until-stored.js'

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

type Needs = Pick<Platform, 'clock' | 'storage' | 'telemetry' | 'stopDeadline'>

/** Reports the jumps of the time of day, and moves the stored times with them. */
export class JumpFollower {
  readonly #needs: Needs
  /** The last move of the stored times that this process knows. */
  #lastMove: number

  constructor(needs: Needs) {
    this.#needs = needs
    this.#lastMove = needs.storage.lastMove ?? 0
  }

  /** Never rejects. */
  async follow(jump: ClockJump): Promise<void> {
    const { telemetry, storage } = this.#needs
    const { from: fromAt, to: toAt } = jump
    telemetry.record({ name: 'clock.jumped', byMs: toAt - fromAt, fromAt, toAt })
    const report = { ...jump, lastMove: this.#lastMove }
    const stored = await retryUntilStored(this.#needs, () => storage.moveTimes(report))
    if (stored.ok) this.#lastMove = stored.value.lastMove
  }

  /** Follows a clock that was set back while no process ran. */
  async followSinceLastWrite(): Promise<void> {
    const to = this.#needs.clock.now()
    const { lastWriteAt: from = to } = this.#needs.storage
    if (from - to >= MIN_JUMP_MS) await this.follow({ from, to })
  }
}
