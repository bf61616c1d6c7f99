import { MIN_JUMP_MS, type ClockJump } from '../domain/clock-jump.js'
import type { Platform } from '../platform.js'
import { retryUntilStored } from './retry-until-stored.js'

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
    if (stored.isOk()) this.#lastMove = stored.value.lastMove
  }

  /** Follows a clock that was set back while no process ran. */
  async followSinceLastWrite(): Promise<void> {
    const to = this.#needs.clock.now()
    const { lastWriteAt: from = to } = this.#needs.storage
    if (from - to >= MIN_JUMP_MS) await this.follow({ from, to })
  }
}
