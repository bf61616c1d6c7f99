import type { Counts, Stats } from '@org/agent-messaging-client'
import { expect, it } from 'vitest'
import { usageFile, usageText } from './usage.js'

const none: Counts = {
  messages: 0,
  events: 0,
  runs: 0,
  answered: 0,
  failed: 0,
  cancelled: 0,
  deliveries: 0,
  delivered: 0,
  exhausted: 0,
  attempts: 0,
  bytesIn: 0,
  bytesOut: 0,
  inputTokens: 0,
  outputTokens: 0,
  byClass: { '2xx': 0, '3xx': 0, '4xx': 0, '429': 0, '5xx': 0, timeout: 0, unreachable: 0 },
  byTime: Array.from({ length: 16 }, () => 0),
  p50Ms: null,
  p95Ms: null,
}
const DAY_MS = 86_400_000
const instant = (time: string) => `2030-01-${time}:00.000Z`
const statsOf = (stepMs: number, total: Counts, ...rows: Stats['rows']): Stats => {
  const [from, to] = [instant('01T00:00'), instant('31T00:00')]
  return { from, to, stepMs, total, rows }
}
const sent = { ...none, messages: 3, answered: 2, failed: 1, p95Ms: 5_000, inputTokens: 4 }
const byClass = { ...none.byClass, '2xx': 1, '5xx': 2 }
const attempts = { ...none, attempts: 3, delivered: 1, exhausted: 1, byClass }
/** The lines with one space between the cells. */
const linesOf = (text: string) => text.split('\n').map((line) => line.replaceAll(/ +/g, ' '))

it('the usage of a project has a line for each day with counts, and their sum', () => {
  const total = { ...attempts, ...sent, attempts: 3, delivered: 1, exhausted: 1, byClass }
  const stats = statsOf(DAY_MS, total, { ...total, at: instant('02T00:00'), people: 2 })
  expect(linesOf(usageText(stats, undefined, {}))).toEqual([
    'START MESSAGES ANSWERED FAILED CANCELLED P95 TOKENS ATTEMPTS REFUSED DELIVERED EXHAUSTED PEOPLE',
    '2030-01-02 3 2 1 0 up to 5 s 4 3 2 1 1 2',
    'total 3 2 1 0 up to 5 s 4 3 2 1 1 -',
  ])
})

it.each([
  [true, 'People today so far: 12'],
  [false, 'People today so far: at least 12'],
])('the usage ends with the people of today (exact: %s)', (isExact, line) => {
  const stats = statsOf(DAY_MS, sent, { ...sent, at: instant('02T00:00'), people: null })
  const text = usageText({ ...stats, peopleToday: { count: 12, isExact } }, undefined, {})
  expect(linesOf(text).slice(1)).toEqual([
    '2030-01-02 3 2 1 0 up to 5 s 4 0 0 0 0 -',
    'total 3 2 1 0 up to 5 s 4 0 0 0 0 -',
    line,
  ])
})

it('the usage of agents has their names, and the ids of deleted ones', () => {
  const row = { ...sent, at: instant('02T12:05'), p95Ms: null }
  const rows = [
    { ...row, id: 'a' },
    { ...row, id: 'b', answered: 0 },
  ]
  const stats = statsOf(300_000, { ...sent, answered: 0 }, ...rows)
  expect(linesOf(usageText(stats, 'agent', { a: 'support' }))).toEqual([
    'START AGENT MESSAGES ANSWERED FAILED CANCELLED P95 TOKENS',
    '2030-01-02T12:05Z support 3 2 1 0 over 1800 s 4',
    '2030-01-02T12:05Z b 3 0 1 0 - 4',
    'total 3 0 1 0 - 4',
  ])
})

it('the usage of webhooks has their URLs, and the hooks of messages', () => {
  const row = { ...attempts, at: instant('02T12:00') }
  const stats = statsOf(3_600_000, attempts, { ...row, id: 'w' }, { ...row, id: '' })
  expect(linesOf(usageText(stats, 'webhook', { w: 'https://a.example' }))).toEqual([
    'START WEBHOOK ATTEMPTS REFUSED DELIVERED EXHAUSTED',
    '2030-01-02T12:00Z https://a.example 3 2 1 1',
    '2030-01-02T12:00Z hooks of messages 3 2 1 1',
    'total 3 2 1 1',
  ])
})

it('the usage of agents is a CSV file, in which no name starts a formula', () => {
  const row = { ...sent, at: instant('02T00:00'), id: 'a', people: 9 }
  const lines = usageFile(statsOf(DAY_MS, sent, row), 'agent', { a: '=1+1' }).split('\r\n')
  expect(lines).toEqual([
    'at,id,agent,people,messages,events,runs,answered,failed,cancelled,deliveries,delivered,exhausted,attempts,bytesIn,bytesOut,inputTokens,outputTokens,p50Ms,p95Ms',
    "2030-01-02T00:00:00.000Z,a,'=1+1,9,3,0,0,2,1,0,0,0,0,0,0,0,4,0,,5000",
  ])
  const { people: _, ...ofWebhook } = row
  expect(usageFile(statsOf(DAY_MS, sent, ofWebhook), 'webhook', {})).toMatch(
    /^at,id,webhook,messages,/,
  )
  const ofProject = { ...sent, at: instant('02T00:00'), people: 2 }
  expect(usageFile(statsOf(DAY_MS, sent, ofProject), undefined, {})).toContain(
    '\r\n2030-01-02T00:00:00.000Z,2,3,',
  )
})

it('the usage of a time without counts says so', () => {
  expect(usageText(statsOf(DAY_MS, none), undefined, {})).toBe('Nothing happened.')
})
