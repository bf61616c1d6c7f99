import { expect, it } from 'vitest'
import { recoveryAfterPage } from './recovery.js'

const running = { state: { kind: 'running' }, matched: 5, redelivered: 3, cursor: 'a' } as const

it('a page adds its counts and moves the cursor', () => {
  expect(recoveryAfterPage(running, { matched: 4, count: 2, nextCursor: 'b' }, 7)).toEqual({
    state: { kind: 'running' },
    matched: 9,
    redelivered: 5,
    cursor: 'b',
  })
})

it('the last page ends the recovery', () => {
  expect(recoveryAfterPage(running, { matched: 0, count: 0, nextCursor: null }, 7)).toEqual({
    state: { kind: 'done', finishedAt: 7 },
    matched: 5,
    redelivered: 3,
  })
})
