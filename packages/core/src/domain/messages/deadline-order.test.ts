import { expect, it } from 'vitest'
import { deadlineCursor, deadlinePlace } from './deadline-order.js'

const ID = '0198b2c4-5555-7a1b-8c2d-3e4f5a6b7c8d'

it('a cursor has the deadline and the id', () => {
  expect(deadlinePlace(deadlineCursor(1_900_000_000_000, ID))).toEqual({
    at: 1_900_000_000_000,
    id: ID,
  })
})

it('a page without a cursor starts before all questions', () => {
  expect(deadlinePlace(undefined)).toEqual({ at: 0, id: '' })
})

it.each(['', ID, `x-${ID}`, '1-', `1-${ID}x`])('%j is not a cursor', (cursor) => {
  expect(deadlinePlace(cursor)).toBeUndefined()
})
