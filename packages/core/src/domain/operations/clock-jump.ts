import type { Instant } from '../values/instant.js'

/** A change of the time of day: the clock said `from`, and at the same moment it said `to`. */
export type ClockJump = { readonly from: Instant; readonly to: Instant }

/** Smaller differences are the usual corrections of a clock. */
export const MIN_JUMP_MS = 2_000

/** Processes notice a jump at the latest when they next measure the clock. */
const NOTICED_WITHIN_MS = 90_000
/** How much two processes can differ in the size of one jump. */
const SIZE_TOLERANCE_MS = 1_000
/** How many moves a storage remembers. */
const KEPT_MOVES = 10

/** A jump as a process reports it. `lastMove` is the last move that the process knows. */
export type JumpReport = ClockJump & { readonly lastMove: number }

/** A jump with which the stored times have moved. Each move has the next number, from 1. */
export type Move = ClockJump & { readonly number: number }

/** The answer to a report. `lastMove` is the last move that the process knows from then on. */
export type MoveResult = { readonly hasMoved: boolean; readonly lastMove: number }

type SeenMoves = {
  /** The moves that the storage remembers, oldest first. */
  readonly moves?: readonly Move[] | undefined
  /** The last time that any process has read, in a storage that many machines share. */
  readonly seenAt?: Instant | undefined
}

/**
 * Returns the instant that is as far ahead after the jump as `at` was before. An instant that had
 * come is still in the past. Stores do the same with `max(to, at + to - from)` for every due time
 * after the earlier of both.
 */
export const afterJump = (at: Instant, { from, to }: ClockJump): Instant =>
  at > Math.min(from, to) ? Math.max(to, at + to - from) : at

/**
 * Decides what a report changes. If the stored times must move with the jump, `moves` are the moves
 * to remember. The sum of all moves is the clock's offset that the stored times follow. The last
 * move that a process knows tells its offset before the jump, and the size of the jump its offset
 * after it. If later moves lead to the same offset, the times have moved already.
 */
export function decideMove(
  { lastMove, ...jump }: JumpReport,
  { moves = [], seenAt }: SeenMoves,
): MoveResult & { readonly moves?: readonly Move[] } {
  const newest = moves.at(-1)?.number ?? 0
  const later = moves.filter(({ number }) => number > lastMove)
  const same = lastOfSame(jump, later)
  if (same) return { hasMoved: false, lastMove: same.number }
  if (seenAt !== undefined && othersLivedOn(jump, seenAt, later.length > 0))
    return { hasMoved: false, lastMove: newest }
  const move = { ...jump, number: newest + 1 }
  return { hasMoved: true, lastMove: move.number, moves: [...moves, move].slice(-KEPT_MOVES) }
}

/**
 * Returns the last of the moves that together are the jump. A process can notice two jumps as one.
 * A process that started between a jump and its move has not noticed the first moves at all.
 */
function lastOfSame(jump: ClockJump, moves: readonly Move[]): Move | undefined {
  for (let first = 0; first < moves.length; first++) {
    let byMs = 0
    for (const move of moves.slice(first)) {
      byMs += sizeOf(move)
      const hasSameSize = Math.abs(byMs - sizeOf(jump)) <= SIZE_TOLERANCE_MS
      if (hasSameSize && Math.abs(move.to - jump.to) <= NOTICED_WITHIN_MS) return move
    }
  }
  return undefined
}

const sizeOf = ({ from, to }: ClockJump): number => to - from

/**
 * True if only this process noticed the jump late. After a jump ahead: the others have lived
 * through the time that this process missed, so this process slept and the clock did not jump.
 * After a jump back: another process has moved the times already.
 */
const othersLivedOn = ({ from, to }: ClockJump, seenAt: Instant, haveMoved: boolean): boolean =>
  to > from
    ? seenAt > from + NOTICED_WITHIN_MS
    : haveMoved && Math.abs(seenAt - to) <= NOTICED_WITHIN_MS
