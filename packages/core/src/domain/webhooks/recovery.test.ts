import { expect, it } from 'vitest'
import { NOTHING_SENT, recoveryAfterPage, recoveryState } from './recovery.js'

const running = { state: { kind: 'running' }, matched: 5, redelivered: 3, cursor: 'a' } as const

it('a page adds its counts and moves the cursor', () => {
  expect(recoveryAfterPage(running, { matched: 4, count: 2, nextCursor: 'b' })).toEqual({
    state: { kind: 'running' },
    matched: 9,
    redelivered: 5,
    cursor: 'b',
  })
})

it('the last page ends the search', () => {
  expect(recoveryAfterPage(running, { matched: 0, count: 0, nextCursor: null })).toEqual({
    state: { kind: 'sending' },
    matched: 5,
    redelivered: 3,
  })
})

it('a recovery that sends is done when no delivery is open', () => {
  const sending = { kind: 'sending' } as const
  const done = { kind: 'done', finishedAt: 7 }
  expect(recoveryState(sending, { ...NOTHING_SENT, waiting: 1 }, 7)).toBe(sending)
  expect(recoveryState(sending, { ...NOTHING_SENT, failing: 1 }, 7)).toBe(sending)
  expect(recoveryState(sending, { ...NOTHING_SENT, delivered: 1 }, 7)).toEqual(done)
  expect(recoveryState(running.state, NOTHING_SENT, 7)).toBe(running.state)
})
