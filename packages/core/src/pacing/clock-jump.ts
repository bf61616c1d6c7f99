import { MIN_JUMP_MS, type ClockJump } from '../domain/clock-jump.js'
import type { Platform } from '../platform.js'
import { retryUntilStored } from './retry-until-stored.js'

type Needs = Pick<Platform, 'clock' | 'storage' | 'telemetry' | 'stopDeadline'>

/** Reports a jump of the time of day and moves the stored times with it. Never rejects. */
export async function followJump(d: Needs, jump: ClockJump): Promise<void> {
  const { from: fromAt, to: toAt } = jump
  d.telemetry.record({ name: 'clock.jumped', byMs: toAt - fromAt, fromAt, toAt })
  await retryUntilStored(d, () => d.storage.moveTimes(jump))
}

/** Follows a clock that was set back while no process ran. */
export async function followJumpSinceLastWrite(d: Needs): Promise<void> {
  const to = d.clock.now()
  const { lastWriteAt: from = to } = d.storage
  if (from - to >= MIN_JUMP_MS) await followJump(d, { from, to })
}
