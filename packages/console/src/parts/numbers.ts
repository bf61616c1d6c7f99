import type { Activity, Instant } from '@org/agent-messaging-core'
import { sumOf, type Series } from './charts.js'
import { ANSWERS, deliveriesPath, type Filter } from './filter.js'
import { messagesPath } from '../messages/message-table.js'

/** The numbers of the overview, per bucket and in total. */
export type Numbers = ReturnType<typeof numbersOf>

/** Turns the counts of an activity into one number for every bucket, also for empty ones. */
export function numbersOf(
  { since, messages, attempts }: Activity,
  { bucketMs, buckets }: { readonly bucketMs: number; readonly buckets: number },
) {
  const at = Array.from({ length: buckets }, (_, i) => since + i * bucketMs)
  const perBucket = <T extends { readonly at: Instant; readonly count: number }>(
    counts: readonly T[],
    matches: (count: T) => boolean,
  ) => {
    const values = at.map(() => 0)
    for (const count of counts) {
      const i = (count.at - since) / bucketMs
      if (matches(count)) values[i] = (values[i] ?? 0) + count.count
    }
    return values
  }
  const byOutcome = (some: Activity['attempts']) => ({
    good: perBucket(some, ({ statusCode }) => isAccepted(statusCode)),
    bad: perBucket(some, ({ statusCode }) => !isAccepted(statusCode)),
  })
  const inStates = (states: readonly State[]) =>
    perBucket(messages, ({ state }) => states.includes(state))
  const partsOf = (states: readonly State[]) =>
    states.map((state) => ({
      name: state,
      count: sumOf(inStates([state])),
      href: messagesPath({ state, from: since }),
    }))
  const { good, bad } = byOutcome(attempts)
  const responded = inStates(['responded'])
  const ended = partsOf(ENDED)
  const open = partsOf(OPEN).filter(({ count }) => count > 0)
  const [failedMessages = 0, cancelled = 0] = ended.map(({ count }) => count)
  return {
    at,
    messages: [
      {
        name: 'responded',
        tone: 'good',
        values: responded,
        href: messagesPath({ state: 'responded', from: since }),
      },
      { name: 'failed or cancelled', tone: 'bad', values: inStates(ENDED), parts: ended },
      { name: 'waiting', tone: 'busy', values: inStates(OPEN), parts: open },
    ] satisfies Series[],
    attempts: [
      {
        name: 'delivered',
        tone: 'good',
        values: good,
        href: deliveriesPath({ answer: '2xx', from: since }),
      },
      {
        name: 'failed',
        tone: 'bad',
        values: bad,
        href: deliveriesPath({ answer: 'failed', from: since }),
      },
    ] satisfies Series[],
    errorRate: [
      {
        name: 'failed',
        tone: 'bad',
        values: bad.map((count, i) => percent(count, good[i] ?? 0)),
      },
    ] satisfies Series[],
    codes: codesOf(attempts),
    ofWebhook: (id: string) => byOutcome(attempts.filter(({ webhookId }) => webhookId === id)),
    total: {
      messages: sumOf([...responded, ...inStates([...ENDED, ...OPEN])]),
      failedMessages,
      cancelled,
      open,
      attempts: sumOf([...good, ...bad]),
      failed: sumOf(bad),
    },
  }
}

type State = Activity['messages'][number]['state']
const OPEN = ['queued', 'running', 'deferred', 'input_required'] as const
const ENDED = ['failed', 'cancelled'] as const

const isAccepted = (statusCode: number) => statusCode >= 200 && statusCode < 300

const percent = (part: number, rest: number) =>
  part === 0 ? 0 : Math.round((100 * part) / (part + rest))

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
