import { describe, expect, it } from 'vitest'
import {
  addCounts,
  attemptClass,
  countOfEnd,
  countOfMessage,
  countOfRun,
  countsOfAttempt,
  rowsOfCounts,
  sumOfCounts,
  timeBucket,
  timeWithin,
  withPeople,
  type Count,
} from './counts.js'
import type { Outcome } from '../webhooks/delivery.js'

const agent = { projectId: 'p', agentId: 'a' }
const answered = { kind: 'responded', response: 'né', respondedAt: 9, responseTimeMs: 100 } as const
const failed = {
  kind: 'failed',
  error: { code: 'RUNTIME_ERROR', message: 'x' },
  failedAt: 9,
} as const

it('the count of a message has its bytes in UTF-8, with its metadata', () => {
  const counts = (more: object) => countOfMessage({ ...agent, message: 'né', ...more }, 7)
  expect(counts({})).toEqual({
    ...{ projectId: 'p', subject: 'agent', id: 'a', at: 7 },
    counts: { messages: 1, bytesIn: 3 },
  })
  expect(counts({ metadata: { k: 1 } }).counts.bytesIn).toBe(3 + '{"k":1}'.length)
})

it.each([
  [answered, {}, { runs: 1, answered: 1, 'time:0': 1, bytesOut: 3 }],
  [
    failed,
    { inputTokens: 3, outputTokens: 2 },
    { runs: 1, failed: 1, 'error:RUNTIME_ERROR': 1, inputTokens: 3, outputTokens: 2 },
  ],
  [{ kind: 'queued', notBefore: 1 } as const, undefined, { runs: 1 }],
])('the count of a run that leaves %j', (state, usage, counts) => {
  expect(countOfRun(agent, state, usage, 9)).toMatchObject({
    subject: 'agent',
    id: 'a',
    at: 9,
    counts,
  })
})

it.each([
  [failed, { failed: 1, 'error:RUNTIME_ERROR': 1 }],
  [{ kind: 'cancelled', cancelledAt: 9 } as const, { cancelled: 1 }],
])('the end of a message without a run counts no run: %j', (state, counts) => {
  expect(countOfEnd(agent, state, 9).counts).toEqual(counts)
})

it.each([
  [0, 0],
  [100, 0],
  [101, 1],
  [1_800_000, 14],
  [1_800_001, 15],
])('a response time of %i ms is in bucket %i', (ms, bucket) => {
  expect(timeBucket(ms)).toBe(bucket)
})

const status = (statusCode: number): Outcome =>
  statusCode < 300
    ? { kind: 'accepted', statusCode, responseBody: '' }
    : { kind: 'refused', statusCode, responseBody: '' }
const unreachable = (error: 'timeout' | 'dns'): Outcome => ({
  kind: 'unreachable',
  error,
  detail: '',
})

it.each([
  [status(204), '2xx'],
  [status(302), '3xx'],
  [status(404), '4xx'],
  [status(429), '429'],
  [status(503), '5xx'],
  [unreachable('timeout'), 'timeout'],
  [unreachable('dns'), 'unreachable'],
] as const)('the class of %j is %s', (outcome, expected) => {
  expect(attemptClass(outcome)).toBe(expected)
})

describe('the count of an attempt', () => {
  const ofWebhook = { projectId: 'p', webhookId: 'w', body: '{}' }
  const webhook = { projectId: 'p', subject: 'webhook', id: 'w' } as const

  it.each([
    [
      status(200),
      'delivered',
      { attempts: 1, 'class:2xx': 1, bytesOut: 2, deliveries: 1, delivered: 1 },
    ],
    [
      status(500),
      'exhausted',
      { attempts: 1, 'class:5xx': 1, bytesOut: 2, deliveries: 1, exhausted: 1 },
    ],
    [status(500), 'pending', { attempts: 1, 'class:5xx': 1, bytesOut: 2 }],
    [unreachable('dns'), 'pending', { attempts: 1, 'class:unreachable': 1 }],
  ] as const)('of %j that leaves it %s', (outcome, state, counts) => {
    const attempt = { ...ofWebhook, startedAt: 5, now: 9, outcome, state }
    expect(countsOfAttempt(attempt)).toEqual({ count: { ...webhook, at: 5, counts } })
  })

  it('has the end of its delivery apart if that is in later five minutes', () => {
    const times = { startedAt: 299_999, now: 300_000 }
    const attempt = { ...ofWebhook, ...times, outcome: status(200), state: 'delivered' } as const
    expect(countsOfAttempt(attempt)).toEqual({
      count: {
        ...webhook,
        at: 299_999,
        counts: { attempts: 1, 'class:2xx': 1, bytesOut: 2 },
      },
      endCount: { ...webhook, at: 300_000, counts: { deliveries: 1, delivered: 1 } },
    })
  })
})

const one = (at: number, id = 'a'): Count => ({
  ...{ projectId: 'p', subject: 'agent', id, at },
  counts: { messages: 1 },
})

it('sums by subject and five minutes, and leaves what it sums as it is', () => {
  const all = [one(1), one(299_999), one(300_000), one(1, 'b')]
  expect(sumOfCounts(all).map(({ at, id, counts }) => [at, id, counts.messages])).toEqual([
    [0, 'a', 2],
    [300_000, 'a', 1],
    [0, 'b', 1],
  ])
  expect(all[0]?.counts).toEqual({ messages: 1 })
})

it('makes a row of each step for the subject and for its project, and adds to known rows', () => {
  const rows = rowsOfCounts([one(1), one(1, 'b')], [300_000, 3_600_000])
  const told = rows.map(({ stepMs, subject, id, counts }) => [stepMs, subject, id, counts.messages])
  expect(told).toEqual([
    [300_000, 'agent', 'a', 1],
    [300_000, 'project', '', 2],
    [3_600_000, 'agent', 'a', 1],
    [3_600_000, 'project', '', 2],
    [300_000, 'agent', 'b', 1],
    [3_600_000, 'agent', 'b', 1],
  ])
  expect(rowsOfCounts([...rows, ...rows], []).map(({ counts }) => counts.messages)).toEqual([
    2, 4, 2, 4, 2, 2,
  ])
})

it.each([
  [0.5, [], null],
  [0.5, [1, 1], 100],
  [0.5, [1, 2], 250],
  [0.95, [94, 1, 5], 250],
  [0.95, [94, 0, 6], 500],
  [0.95, [1, ...Array.from({ length: 14 }, () => 0), 1], null],
])('%d of the times are within the end of a bucket: %j', (share, byTime, end) => {
  expect(timeWithin(share, byTime)).toBe(end)
})

it('the sums of two projects, which have no id of their own, stay apart', () => {
  const count = { subject: 'project', id: '', at: 0, counts: { messages: 1 } } as const
  const sums = sumOfCounts(['p', 'q', 'p'].map((projectId) => ({ ...count, projectId })))
  expect(sums.map(({ projectId, counts }) => [projectId, counts.messages])).toEqual([
    ['p', 2],
    ['q', 1],
  ])
})

it('a sum has no count of 0', () => {
  expect(addCounts({ messages: 1 }, { messages: 2, runs: 0 })).toEqual({ messages: 3 })
})

it('a row of people keeps the counts and the people that are known', () => {
  const row = { projectId: 'p', subject: 'agent', stepMs: 300_000, at: 0 } as const
  const rows = [
    { ...row, id: 'a', counts: { people: 2 } },
    { ...row, id: 'b', counts: { people: 1 } },
    { ...row, id: 'c', counts: {} },
  ]
  const known = [
    { ...row, id: 'a', counts: { messages: 5, people: 3 } },
    { ...row, id: 'b', counts: { messages: 1 } },
  ]
  expect(withPeople(rows, known).map(({ id, counts }) => [id, counts])).toEqual([
    ['a', { messages: 5, people: 3 }],
    ['b', { messages: 1, people: 1 }],
  ])
})
