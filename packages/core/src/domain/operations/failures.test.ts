import { expect, it } from 'vitest'
import type { Counts } from './counts.js'
import { countedFailures } from './failures.js'

const rows = (...steps: readonly Counts[]) =>
  steps.map((counts, at) => {
    const of = { projectId: 'p', subject: 'agent', id: 'a', stepMs: 1 } as const
    return { ...of, at, counts }
  })
const failed = (count: number): Counts => ({ failed: count, 'error:RUNTIME_ERROR': count })
const answered: Counts = { answered: 1 }

it('failures begin after the last step that has successes alone', () => {
  const counted = countedFailures(
    rows(failed(5), answered, failed(1), {}, { ...answered, ...failed(2) }, failed(3)),
  )
  expect(counted).toEqual({
    isFailing: true,
    countedFrom: 2,
    failed: 6,
    ended: 7,
    reasons: [{ reason: 'RUNTIME_ERROR', count: 6 }],
  })
})

it('the last failures are counted when they are over', () => {
  const counted = countedFailures(rows(failed(1), answered, failed(2), answered, {}, answered))
  expect(counted).toMatchObject({ isFailing: false, countedFrom: 2, failed: 2, ended: 4 })
})

it('the most frequent reason comes first, and an accepted attempt is none', () => {
  const attempts: Counts = { attempts: 9, 'class:2xx': 4, 'class:429': 2, 'class:5xx': 3 }
  expect(countedFailures(rows(attempts))).toMatchObject({
    failed: 5,
    ended: 9,
    reasons: [
      { reason: '5xx', count: 3 },
      { reason: '429', count: 2 },
    ],
  })
})

it.each([[[]], [[answered]], [[{ cancelled: 1 }]]])('%j has no failures', (steps) => {
  expect(countedFailures(rows(...steps))).toBeUndefined()
})
