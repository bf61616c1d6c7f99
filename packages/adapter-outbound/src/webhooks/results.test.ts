import type { MadeAttempt, Outcome } from '@org/agent-messaging-core/runtime'
import { expect, it, onTestFinished, vi } from 'vitest'
import { Results } from './results.js'

const accepted: Outcome = { kind: 'accepted', statusCode: 204, responseBody: '' }
const refused: Outcome = { kind: 'refused', statusCode: 500, responseBody: '' }

/** `messages`: the numbers of the results in each message. */
function scene() {
  vi.useFakeTimers()
  onTestFinished(() => void vi.useRealTimers())
  const messages: number[][] = []
  const results = new Results((posted) => messages.push(posted.map(([number]) => number)))
  const add = (number: number, canWait: boolean, outcome = accepted): void => {
    const made: MadeAttempt = { startedAt: 0, endedAt: 1, outcome }
    results.add(number, made, canWait)
  }
  return { add, messages, results }
}

it('results of accepted deliveries that can wait are one message', () => {
  const { add, messages } = scene()
  add(1, true)
  vi.advanceTimersByTime(39)
  add(2, true)
  expect(messages).toEqual([])
  vi.advanceTimersByTime(1)
  add(3, true)
  expect(messages).toEqual([[1, 2]])
  vi.advanceTimersByTime(40)
  expect(messages).toEqual([[1, 2], [3]])
})

it.each([
  ['a result that cannot wait', false, accepted],
  ['a failure', true, refused],
] as const)('%s is posted at once, with those that wait', (_, canWait, outcome) => {
  const { add, messages } = scene()
  add(1, true)
  add(2, canWait, outcome)
  add(3, false)
  vi.advanceTimersByTime(0)
  expect(messages).toEqual([[1, 2, 3]])
  vi.advanceTimersByTime(40)
  expect(messages).toHaveLength(1)
})

it('the end of the thread posts the results that wait', () => {
  const { add, messages, results } = scene()
  add(1, true)
  results.post()
  vi.advanceTimersByTime(40)
  expect(messages).toEqual([[1]])
})
