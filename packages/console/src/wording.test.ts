import { expect, it } from 'vitest'
import { lasting, took } from './parts.js'
import { outcomeWords } from './wording.js'

it.each([
  [85, '85 ms'],
  [20_010, '20.0 s'],
  [200_000, '3 min'],
])('%i ms are %s', (ms, words) => expect(took(ms)).toBe(words))

it('says how long something has been so, from its first moment on', () => {
  expect([lasting(10_000, 10_900), lasting(10_000, 70_000)]).toEqual(['just now', 'for 1 min'])
})

it('calls an attempt that was not answered what the filter and the overview call it, and says why', () => {
  expect(outcomeWords({ kind: 'unreachable', error: 'address_blocked', detail: '' }).words).toBe(
    'not reached: address blocked',
  )
})
