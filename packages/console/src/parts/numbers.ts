import type { Activity, Instant } from '@org/agent-messaging-core'
import type { Series } from './charts.js'
import { ANSWERS, deliveriesPath, type Filter } from './filter.js'
import { type MessageFilter, messagesPath } from '../messages/message-table.js'

/** The numbers of the overview, per bucket and in total. */
export type Numbers = ReturnType<typeof numbersOf>

/** Turns the counts of an activity into one number for every bucket, also for empty ones. */
export function numbersOf(
  { since, messages, attempts }: Activity,
  { bucketMs, buckets }: { readonly bucketMs: number; readonly buckets: number },
) {
  const at: Instant[] = Array.from({ length: buckets }, (_, i) => since + i * bucketMs)
  const perBucket = <T extends { readonly at: Instant; readonly count: number }>(
    counts: readonly T[],
    matches: (count: T) => boolean,
  ): number[] => {
    const values = at.map(() => 0)
    for (const count of counts) {
      const i = (count.at - since) / bucketMs
      if (matches(count)) values[i] = (values[i] ?? 0) + count.count
    }
    return values
  }
  const accepted = perBucket(attempts, ({ statusCode }) => isAccepted(statusCode))
  const failed = perBucket(attempts, ({ statusCode }) => !isAccepted(statusCode))
  const responded = perBucket(messages, ({ state }) => state === 'responded')
  const ended = perBucket(messages, ({ state }) => state === 'failed' || state === 'cancelled')
  const open = perBucket(messages, ({ state }) => OPEN.some((one) => one === state))
  const inState = (wanted: Activity['messages'][number]['state']): number =>
    sumOf(perBucket(messages, ({ state }) => state === wanted))
  const partsOf = (states: readonly NonNullable<MessageFilter['state']>[]) =>
    states.map((state) => ({
      name: state,
      count: inState(state),
      href: messagesPath({ state, from: since }),
    }))
  const rate = at.map((_, i) => percent(failed[i] ?? 0, accepted[i] ?? 0))
  return {
    at,
    messages: [
      {
        ...seriesOf('responded', 'good', responded),
        href: messagesPath({ state: 'responded', from: since }),
      },
      {
        ...seriesOf('failed or cancelled', 'bad', ended),
        parts: partsOf(['failed', 'cancelled']),
      },
      {
        ...seriesOf('waiting', 'busy', open),
        parts: partsOf(OPEN).filter(({ count }) => count > 0),
      },
    ],
    attempts: [
      {
        ...seriesOf('delivered', 'good', accepted),
        href: deliveriesPath({ answer: '2xx', from: since }),
      },
      {
        ...seriesOf('failed', 'bad', failed),
        href: deliveriesPath({ answer: 'failed', from: since }),
      },
    ],
    errorRate: [seriesOf('failed', 'bad', rate)],
    codes: codesOf(attempts),
    ofWebhook: (id: string) => ({
      good: perBucket(
        attempts,
        ({ webhookId, statusCode }) => webhookId === id && isAccepted(statusCode),
      ),
      bad: perBucket(
        attempts,
        ({ webhookId, statusCode }) => webhookId === id && !isAccepted(statusCode),
      ),
    }),
    total: {
      messages: sumOf(responded) + sumOf(ended) + sumOf(open),
      failedMessages: inState('failed'),
      cancelled: inState('cancelled'),
      open: OPEN.map((state) => ({ state, count: inState(state) })).filter(
        ({ count }) => count > 0,
      ),
      attempts: sumOf(accepted) + sumOf(failed),
      failed: sumOf(failed),
    },
  }
}

const OPEN = ['queued', 'running', 'deferred', 'input_required'] as const

const seriesOf = (name: string, tone: Series['tone'], values: readonly number[]): Series => ({
  name,
  tone,
  values,
})

const isAccepted = (statusCode: number): boolean => statusCode >= 200 && statusCode < 300

const percent = (part: number, rest: number): number =>
  part === 0 ? 0 : Math.round((100 * part) / (part + rest))

export const sumOf = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0)

/** Returns the status codes, most frequent first. */
function codesOf(attempts: Activity['attempts']) {
  const counts = new Map<number, number>()
  for (const { statusCode, count } of attempts)
    counts.set(statusCode, (counts.get(statusCode) ?? 0) + count)
  return [...counts]
    .sort(([, a], [, b]) => b - a)
    .slice(0, 8)
    .map(([code, count]) => ({
      text: code === 0 ? 'unreachable' : String(code),
      tone: isAccepted(code) ? 'good' : 'bad',
      count,
      answer: answerOf(code),
    }))
}

const answerOf = (code: number): NonNullable<Filter['answer']> =>
  code === 0
    ? 'none'
    : (ANSWERS.find((answer) => answer.startsWith(String(code).slice(0, 1))) ?? 'none')
