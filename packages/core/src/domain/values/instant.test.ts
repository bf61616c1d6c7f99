import { expect, it } from 'vitest'
import { dayIn, instantOf } from './instant.js'

it.each([
  ['2030-01-31T12:00:00Z', Date.UTC(2030, 0, 31, 12)],
  ['2030-01-31T12:00+01:00', Date.UTC(2030, 0, 31, 11)],
  ['2030-02-30T12:00:00Z', undefined],
  ['2030-01-31T25:00:00Z', undefined],
  ['2030-01-31T12:00:00', undefined],
  ['2030-01-31', undefined],
  [5, undefined],
  [null, undefined],
])('the instant in %j is %j', (value, instant) => {
  expect(instantOf(value)).toBe(instant)
})

it.each([
  ['2030-01-31', Date.UTC(2030, 0, 31)],
  ['2030-02-30', undefined],
  ['2030-13-01', undefined],
  ['2030-01-31T12:00:00Z', undefined],
  [5, undefined],
])('the day in %j is %j', (value, day) => {
  expect(dayIn(value)).toBe(day)
})
