import { expect, it } from 'vitest'
import { mostWaitingRecords } from './waiting-records.js'

it.each([
  [0, 4],
  [2, 4],
  [11, 5],
  [64, 32],
  [256, 32],
])('with %i requests in flight, a store collects at most %i records', (inFlight, most) => {
  expect(mostWaitingRecords(inFlight)).toBe(most)
})
