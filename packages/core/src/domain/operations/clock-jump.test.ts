import { expect, it } from 'vitest'
import { afterJump, decideMove, type ClockJump, type Move } from './clock-jump.js'

const HOUR = 3_600_000
const forward = { from: 10 * HOUR, to: 11 * HOUR }
const back = { from: 10 * HOUR, to: 9 * HOUR }

it.each([
  ['a due time before a jump ahead', 10 * HOUR - 1, forward, 10 * HOUR - 1],
  ['a time that is due at a jump ahead', 10 * HOUR, forward, 10 * HOUR],
  ['a time in a minute', 10 * HOUR + 60_000, forward, 11 * HOUR + 60_000],
  ['a time in a day', 34 * HOUR, forward, 35 * HOUR],
  ['a time in a minute, back', 10 * HOUR + 60_000, back, 9 * HOUR + 60_000],
  ['a time that had come only before the jump back', 9.5 * HOUR, back, 9 * HOUR],
  ['a time that has come on both clocks', 9 * HOUR, back, 9 * HOUR],
  ['zero', 0, back, 0],
])('%s keeps its distance', (_what, at, jump, moved) => expect(afterJump(at, jump)).toBe(moved))

const moveOf = (jump: ClockJump, number = 1): Move => ({ ...jump, number })
const later = ({ from, to }: ClockJump, ms: number): ClockJump => ({ from: from + ms, to: to + ms })

/** Reports of processes, one after the other. Returns the number of each move, or 0. */
function reporting() {
  let moves: readonly Move[] = []
  return (jump: ClockJump, lastMove: number): number => {
    const decided = decideMove({ ...jump, lastMove }, { moves })
    moves = decided.moves ?? moves
    return decided.hasMoved ? decided.lastMove : 0
  }
}
const decided = (jump: ClockJump, move: ClockJump, lastMove = 0): boolean =>
  decideMove({ ...jump, lastMove }, { moves: [moveOf(move)] }).hasMoved

it('two processes notice one jump with about the same size, within 90 s', () => {
  expect(decided(later(back, 90_000), back)).toBe(false)
  expect(decided(later(back, 90_001), back)).toBe(true)
  expect(decided({ from: back.from, to: back.to + 1_000 }, back)).toBe(false)
  expect(decided({ from: back.from, to: back.to + 1_001 }, back)).toBe(true)
  expect(decided({ from: back.to, to: back.from }, back)).toBe(true)
})

it('times move once for each jump', () => {
  expect(decideMove({ ...back, lastMove: 0 }, {})).toEqual({
    hasMoved: true,
    lastMove: 1,
    moves: [moveOf(back)],
  })
  expect(decideMove({ ...back, lastMove: 0 }, { moves: [moveOf(back, 7)] })).toEqual({
    hasMoved: false,
    lastMove: 7,
  })
})

it('a second jump of the same size is another one for a process that knows the first', () => {
  const report = reporting()
  expect([report(back, 0), report(back, 0)]).toEqual([1, 0])
  expect([report(back, 1), report(later(back, 500), 1)]).toEqual([2, 0])
})

it('a process that is one jump behind finds each jump among the moves', () => {
  const report = reporting()
  expect([report(back, 0), report(back, 1)]).toEqual([1, 2])
  expect([report(later(back, 100), 0), report(later(back, 200), 1)]).toEqual([0, 0])
})

it('a process that notices two jumps as one reports none again', () => {
  const report = reporting()
  expect([report(back, 0), report(later(back, -HOUR), 1)]).toEqual([1, 2])
  expect(report({ from: back.from, to: back.to - HOUR }, 0)).toBe(0)
})

it('a process that started after a jump, and before its move, does not repeat the next one', () => {
  const report = reporting()
  expect([report(forward, 0), report(later(back, HOUR), 1)]).toEqual([1, 2])
  expect(report(later(back, HOUR), 0)).toBe(0)
})

it('a storage remembers ten moves', () => {
  const moves = Array.from({ length: 10 }, (_, n) => moveOf(back, n + 1))
  const { moves: kept } = decideMove({ ...forward, lastMove: 10 }, { moves })
  expect(kept?.map(({ number }) => number)).toEqual([2, 3, 4, 5, 6, 7, 8, 9, 10, 11])
})

it('times do not move for a process that slept while others lived', () => {
  const moved = (seenAt: number) => decideMove({ ...forward, lastMove: 0 }, { seenAt }).hasMoved
  expect(moved(forward.to - 30_000)).toBe(false)
  expect(moved(forward.from + 60_000)).toBe(true)
})

it('times do not move for a jump back that another process has followed', () => {
  const seen = { seenAt: back.to + 600_000, moves: [moveOf(back)] }
  const jump = later(back, 600_000)
  expect(decideMove({ ...jump, lastMove: 0 }, seen)).toEqual({ hasMoved: false, lastMove: 1 })
  expect(decideMove({ ...jump, lastMove: 1 }, seen).hasMoved).toBe(true)
})
