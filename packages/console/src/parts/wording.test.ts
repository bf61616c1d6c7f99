import { expect, it } from 'vitest'
import { durationSince, formatDuration } from './parts.js'
import { limitText, outcomeLabel } from './wording.js'

it.each([
  [85, '85 ms'],
  [20_010, '20.0 s'],
  [200_000, '3 min'],
])('%i ms are shown as %s', (ms, text) => expect(formatDuration(ms)).toBe(text))

it('the time since an instant is shown from the first second', () => {
  expect([durationSince(10_000, 10_900), durationSince(10_000, 70_000)]).toEqual([
    'just now',
    'for 1 min',
  ])
})

it('an unreachable receiver has the same name in the filter and the overview', () => {
  expect(outcomeLabel({ kind: 'unreachable', error: 'address_blocked', detail: '' }).text).toBe(
    'unreachable: address blocked',
  )
})

it('a receiver with an open circuit gets one request at a time', () => {
  expect(limitText({ concurrency: 2, reason: 'circuit' })).toBe(
    '1 request at a time: until the receiver accepts it',
  )
})
