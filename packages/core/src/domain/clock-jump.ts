import type { Instant } from './instant.js'

/** A change of the time of day: the clock said `from`, and at the same moment it said `to`. */
export type ClockJump = { readonly from: Instant; readonly to: Instant }

/** Smaller differences are the usual corrections of a clock. */
export const MIN_JUMP_MS = 2_000

/** Processes notice a jump at the latest when they next measure the clock. */
const NOTICED_WITHIN_MS = 90_000
/** How much two processes can differ in the size of one jump. */
const SIZE_TOLERANCE_MS = 1_000

/**
 * Returns the instant that is as far ahead after the jump as `at` was before. An instant that had
 * come is still in the past. Stores do the same with `max(to, at + to - from)` for every due time
 * after the earlier of both.
 */
export const afterJump = (at: Instant, { from, to }: ClockJump): Instant =>
  at > Math.min(from, to) ? Math.max(to, at + to - from) : at

/**
 * True if two processes report one jump. Then the stored times must move only once. Two jumps of
 * the same size within a minute and a half also count as one.
 */
export const isSameJump = (a: ClockJump, b: ClockJump): boolean =>
  Math.abs(a.to - b.to) <= NOTICED_WITHIN_MS &&
  Math.abs(a.to - a.from - (b.to - b.from)) <= SIZE_TOLERANCE_MS

/**
 * True if the stored times must move. `moved` is the last jump for which they did. `seenAt` is the
 * last time that any process has read, in a storage that many machines share. It tells two cases
 * apart. After a jump ahead: the others have lived through the time that this process missed, so
 * this process slept and the clock did not jump. After a jump back: another process has moved the
 * times already.
 */
export function mustMoveTimes(
  jump: ClockJump,
  {
    moved,
    seenAt,
  }: { readonly moved?: ClockJump | undefined; readonly seenAt?: Instant | undefined },
): boolean {
  if (moved && isSameJump(moved, jump)) return false
  if (seenAt === undefined) return true
  return jump.to > jump.from
    ? seenAt <= jump.from + NOTICED_WITHIN_MS
    : Math.abs(seenAt - jump.to) > NOTICED_WITHIN_MS
}
