import type { Agent, Instant, MessagingService, ProjectStats } from '@org/agent-messaging-core'
import type { AllCounts, Backlog, StatsRow } from '@org/agent-messaging-core/host'
import type { Series } from './charts.js'
import { formatDuration } from './parts.js'
import type { Filter } from './filter.js'

const HOUR = 3_600_000

/** How long a chart looks back. A bar has the counts of `merged` steps. */
export const RANGES = {
  '1h': { label: '1 hour', step: '5m', stepMs: HOUR / 12, bars: 12, merged: 1 },
  '24h': { label: '24 hours', step: '1h', stepMs: HOUR, bars: 24, merged: 1 },
  '7d': { label: '7 days', step: '1h', stepMs: HOUR, bars: 56, merged: 3 },
} as const
export type Range = keyof typeof RANGES

/** The counts of a project or of an agent since an instant. */
type CountedMessages = {
  readonly since: Instant
  readonly now: Instant
  readonly messages: ProjectStats
}
/** The counts of a project and of its webhooks, or of one, since an instant, and its open work. */
export type Counted = CountedMessages & {
  readonly webhooks: ProjectStats
  readonly backlog: Backlog
}

export async function readCounts(
  service: MessagingService,
  projectId: string,
  range: Range,
  webhookId?: string,
) {
  const asked = { projectId, ...stepsOf(service.host.now(), range) }
  const messages = await service.stats(asked)
  const webhooks = await service.stats({ ...asked, by: 'webhook', id: webhookId })
  const backlog = await service.backlog({ projectId })
  return { since: asked.from, now: asked.to, messages, webhooks, backlog }
}

export async function readCountsOfAgent(
  service: MessagingService,
  { projectId, id }: Agent,
  range: Range,
) {
  const asked = { projectId, ...stepsOf(service.host.now(), range) }
  const messages = await service.stats({ ...asked, by: 'agent', id })
  return { since: asked.from, now: asked.to, messages }
}

function stepsOf(now: Instant, range: Range) {
  const { step, stepMs, bars, merged } = RANGES[range]
  const barMs = stepMs * merged
  return { step, from: (Math.floor(now / barMs) - bars + 1) * barMs, to: now }
}

const OUTCOMES = [
  ['answered', 'good'],
  ['failed', 'bad'],
  ['cancelled', 'busy'],
] as const
const SHARES = [
  ['95 %', 'busy', 'p95Ms'],
  ['half', 'good', 'p50Ms'],
] as const

export type Numbers = ReturnType<typeof numbersOf>

/** Turns counts into one number for every bar, also for empty ones. */
export function numbersOf(
  { since, messages, webhooks }: CountedMessages & Partial<Counted>,
  range: Range,
) {
  const { stepMs, bars, merged } = RANGES[range]
  const barMs = stepMs * merged
  const at = Array.from({ length: bars }, (_, i) => since + i * barMs)
  const perBar = (
    rows: readonly StatsRow[],
    count: (row: AllCounts) => number,
    join = (one: number, other: number) => one + other,
  ) => {
    const values = at.map(() => 0)
    for (const row of rows) {
      const i = Math.floor((row.at - since) / barMs)
      values[i] = join(values[i] ?? 0, count(row))
    }
    return values
  }
  const byOutcome = (rows: readonly StatsRow[]) => ({
    good: perBar(rows, accepted),
    bad: perBar(rows, refused),
  })
  const { rows, total } = messages
  const rowsOf = Map.groupBy(webhooks?.rows ?? [], ({ id }) => id)
  const { good, bad } = byOutcome(rows)
  return {
    at,
    messages: OUTCOMES.map(([name, tone]): Series => {
      return { name, tone, values: perBar(rows, (row) => row[name]) }
    }),
    attempts: [
      { name: 'accepted', tone: 'good', values: good },
      { name: 'failed', tone: 'bad', values: bad },
    ] satisfies Series[],
    errorRate: [
      {
        name: 'failed',
        tone: 'bad',
        values: bad.map((count, i) => percent(count, good[i] ?? 0)),
      },
    ] satisfies Series[],
    /** In front, the time of half of the answers. Behind it, of 95 %. */
    latency: SHARES.map(([name, tone, share]): Series => {
      const values = perBar(rows, (row) => slowest(row, share), Math.max)
      return { name, tone, values }
    }),
    classes: classesOf(total),
    ofWebhook: (id: string) => byOutcome(rowsOf.get(id) ?? []),
    total: { ...total, failedAttempts: refused(total), acceptedAttempts: accepted(total) },
  }
}

const accepted = ({ byClass }: AllCounts) => byClass['2xx']
const refused = ({ attempts, byClass }: AllCounts) => attempts - byClass['2xx']

/** The buckets of response times end at half an hour. */
const LONGEST_MS = 1_800_000
const slowest = (row: AllCounts, share: 'p50Ms' | 'p95Ms') =>
  row.answered === 0 ? 0 : (row[share] ?? LONGEST_MS + 1)
/** Writes the end of a bucket of response times. */
export const upTo = (ms: number | null) =>
  ms === null || ms > LONGEST_MS ? 'over 30 min' : `up to ${formatDuration(ms)}`

const percent = (part: number, rest: number) =>
  part === 0 ? 0 : Math.round((1_000 * part) / (part + rest)) / 10

const ANSWER_OF: Readonly<Record<keyof AllCounts['byClass'], NonNullable<Filter['answer']>>> = {
  '2xx': '2xx',
  '3xx': '3xx',
  '4xx': '4xx',
  '429': '4xx',
  '5xx': '5xx',
  timeout: 'none',
  unreachable: 'none',
}

/** The classes of attempts, most frequent first. */
const classesOf = ({ byClass }: AllCounts) =>
  Object.entries(byClass)
    .map(([text, count]) => ({
      text: text === '4xx' ? '4xx except 429' : text,
      tone: text === '2xx' ? 'good' : 'bad',
      count,
      answer: ANSWER_OF[text as keyof AllCounts['byClass']],
    }))
    .filter(({ count }) => count > 0)
    .sort((a, b) => b.count - a.count)
