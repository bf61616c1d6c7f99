import { expect, it } from 'vitest'
import { aMessage, anAgent } from '@org/agent-messaging-testing'
import { isExtensionDue, lossReason, newestRuns } from './run-leases.js'
import type { Run } from './run.js'

it.each([
  ['is due before the first extension', undefined, 1_000, true],
  ['is not due before a third of the lease', 1_000, 10_999, false],
  ['is due after a third of the lease', 1_000, 11_000, true],
  ['is not due when the clock was set back a little', 20_000, 15_000, false],
  ['is due when the clock was set back by a third of the lease', 20_000, 10_000, true],
])('an extension %s', (_, extendedAt, now, isDue) => {
  expect(isExtensionDue(extendedAt, now, 30_000)).toBe(isDue)
})

it('only the last run of a message can hold its lease', () => {
  const runOf = (messageId: string, token: number) => ({ held: { messageId, token } }) as Run
  const runs = [runOf('a', 1), runOf('b', 1), runOf('a', 2)]
  expect(newestRuns(runs).map(({ held }) => held)).toEqual([
    { messageId: 'a', token: 2 },
    { messageId: 'b', token: 1 },
  ])
})

const message = aMessage(anAgent())
const error = { code: 'RUNTIME_ERROR', message: 'no' } as const
it.each([
  ['another process runs the message', { kind: 'running', startedAt: 0 }, 'lost'],
  ['the message waits for its next attempt', { kind: 'queued', notBefore: 0 }, 'lost'],
  ['the message is cancelled', { kind: 'cancelled', cancelledAt: 0 }, 'cancelled'],
  ['the message has failed', { kind: 'failed', error, failedAt: 0 }, 'cancelled'],
] as const)('a lease is gone because %s', (_, state, reason) => {
  expect(lossReason({ ...message, state })).toBe(reason)
})

it('a lease is gone because the message was erased', () => {
  expect(lossReason(undefined)).toBe('cancelled')
})
