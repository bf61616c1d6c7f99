import { expect, it } from 'vitest'
import type { FailedAgent } from '../domain/agents/agent.js'
import { fakeClock } from '@org/agent-messaging-testing'
import { FailureCounts } from './failure-counts.js'

const error = { code: 'RUNTIME_EXITED', message: 'segfault' } as const
const failedState = (failures: number, retryAt?: number): FailedAgent => ({
  kind: 'error',
  lastError: error,
  failures,
  ...(retryAt !== undefined && { retryAt }),
})

it.each<[string, (counts: FailureCounts, now: number) => void, number]>([
  ['starts at 1', () => undefined, 1],
  ['continues', (counts) => counts.failed('a', error), 2],
  [
    'continues the count of another process',
    (counts) => counts.noteError('a', failedState(4, 1)),
    5,
  ],
  ['starts again after the last try', (counts) => counts.noteError('a', failedState(10)), 1],
  [
    'ignores an end on purpose',
    (counts) => {
      counts.noteError('a', failedState(4, 1))
      counts.interrupted('a', error)
    },
    5,
  ],
  [
    'starts again when the agent has run for a minute',
    (counts, now) => {
      counts.noteError('a', failedState(4, 1))
      counts.noteRunning('a', { kind: 'running', startedAt: now - 60_000 })
    },
    1,
  ],
  [
    'continues when the agent has run for less than a minute',
    (counts, now) => {
      counts.noteError('a', failedState(4, 1))
      counts.noteRunning('a', { kind: 'running', startedAt: now - 59_999 })
    },
    5,
  ],
])('the failure count of an agent %s', (_, before, failures) => {
  const clock = fakeClock()
  const counts = new FailureCounts(clock)
  before(counts, clock.now())
  expect(counts.failed('a', error)).toMatchObject({ failures })
})
