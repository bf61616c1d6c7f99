import { expect, it } from 'vitest'
import { afterJump, isSameJump, mustMoveTimes } from './clock-jump.js'

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

it('two processes notice one jump with about the same size, within 90 s', () => {
  expect(isSameJump(back, { from: back.from + 90_000, to: back.to + 90_000 })).toBe(true)
  expect(isSameJump(back, { from: back.from + 90_001, to: back.to + 90_001 })).toBe(false)
  expect(isSameJump(back, { from: back.from, to: back.to + 1_000 })).toBe(true)
  expect(isSameJump(back, { from: back.from, to: back.to + 1_001 })).toBe(false)
  expect(isSameJump(back, { from: back.to, to: back.from })).toBe(false)
})

it('times move once for each jump', () => {
  expect(mustMoveTimes(back, {})).toBe(true)
  expect(mustMoveTimes(back, { moved: back })).toBe(false)
  expect(mustMoveTimes(back, { moved: forward })).toBe(true)
})

it('times do not move for a process that slept while others lived', () => {
  expect(mustMoveTimes(forward, { seenAt: forward.to - 30_000 })).toBe(false)
  expect(mustMoveTimes(forward, { seenAt: forward.from + 60_000 })).toBe(true)
})

it('times do not move for a jump back that another process has followed', () => {
  expect(mustMoveTimes(back, { seenAt: back.from - 60_000 })).toBe(true)
  expect(mustMoveTimes(back, { seenAt: back.to + 60_000 })).toBe(false)
})
