import type { Message } from '../messages/message.js'
import { expect, it } from 'vitest'
import {
  countedAs,
  decidedRecovery,
  NOTHING_SENT,
  recoveryAfterPage,
  recoveryState,
  triedState,
  tryPage,
  type RecoveryState,
} from './recovery.js'

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

it.each<[RecoveryState['kind'], boolean, boolean]>([
  ['running', false, true],
  ['trying', false, true],
  ['paused', true, true],
  ['sending', false, false],
  ['done', false, false],
])('a recovery that is %s can continue: %s, and be cancelled: %s', (kind, continues, ends) => {
  const state = { kind, finishedAt: 1 } as RecoveryState
  expect(decidedRecovery(state, 'continue', 7)).toEqual(continues ? { kind: 'running' } : undefined)
  const cancelled = { kind: 'cancelled', finishedAt: 7 }
  expect(decidedRecovery(state, 'cancel', 7)).toEqual(ends ? cancelled : undefined)
})

it('a recovery pauses if its try was attempted without success, and else tries another', () => {
  expect(triedState({ delivered: 1, attempted: 1 })).toEqual({ kind: 'running' })
  expect(triedState({ delivered: 0, attempted: 1 })).toEqual({ kind: 'paused' })
  expect(triedState({ delivered: 0, attempted: 0 })).toEqual({ kind: 'trying' })
})

it('the page of a try ends after the first match that can be redelivered', () => {
  const page = { data: [{ id: 'c' }, { id: 'b' }, { id: 'a' }], nextCursor: null }
  expect(tryPage(page, ({ id }) => id === 'b')).toEqual({
    data: [{ id: 'c' }, { id: 'b' }],
    nextCursor: 'b',
  })
  expect(tryPage(page, ({ id }) => id === 'a')).toEqual(page)
  expect(tryPage(page, () => false)).toEqual(page)
})

it.each([
  ['queued', 0, 'waiting'],
  ['running', 1, 'waiting'],
  ['queued', 1, 'failing'],
  ['running', 2, 'failing'],
  ['deferred', 3, 'failing'],
  ['responded', 1, 'delivered'],
  ['failed', 1, 'exhausted'],
  ['cancelled', 0, 'cancelled'],
] as const)('a retried message that is %s in attempt %i counts as %s', (kind, attempt, as) => {
  const state = { kind } as Message['state']
  expect(countedAs({ state, attempt })).toBe(as)
  const asked = countedAs({ state, attempt, inputs: [] })
  expect(asked).toBe(as === 'failing' ? 'waiting' : as)
})
