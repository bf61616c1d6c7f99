import type { Outcome } from '../webhooks/delivery.js'
import type { Instant } from '../values/instant.js'
import type { JsonObject } from '../values/json.js'
import type { InputPart } from '../messages/input-part.js'
import type { MessageState } from '../messages/message.js'
import type { RunError } from '../messages/run.js'
import type { RunUsage } from './usage.js'

/**
 * The upper ends of the buckets of response times, in milliseconds. A last bucket has the longer
 * times.
 */
export const RESPONSE_TIMES_MS = [
  100, 250, 500, 1_000, 2_000, 3_000, 5_000, 10_000, 20_000, 30_000, 60_000, 120_000, 300_000,
  600_000, 1_800_000,
] as const

/** The classes of an attempt's outcome: the class of the receiver's status, or no answer. */
export const ATTEMPT_CLASSES = [
  '2xx',
  '3xx',
  '4xx',
  '429',
  '5xx',
  'timeout',
  'unreachable',
] as const
export type AttemptClass = (typeof ATTEMPT_CLASSES)[number]

// A name that is made for each count would cost as much as all the rest of it.
const CLASS_NAMES = Object.fromEntries(
  ATTEMPT_CLASSES.map((name) => [name, `class:${name}`]),
) as Record<AttemptClass, `class:${AttemptClass}`>
const TIME_NAMES = [...RESPONSE_TIMES_MS, Infinity].map((_, at) => `time:${at}` as const)
type TimeName = (typeof TIME_NAMES)[number]

/** What is counted, in words for people. */
export const COUNTED = {
  messages: 'Accepted messages.',
  events: 'Published events.',
  runs: 'Runs whose outcome was stored.',
  answered: 'Messages that were answered.',
  failed: 'Messages that failed. One that is retried and fails again counts again.',
  cancelled: 'Messages that were cancelled.',
  deliveries: 'Deliveries that were delivered or exhausted.',
  delivered: 'Deliveries that a receiver accepted.',
  exhausted: 'Deliveries without another attempt.',
  attempts: 'Requests to webhooks.',
  bytesIn: 'Messages with their parts, schema and metadata, and published events, in UTF-8.',
  bytesOut: 'Answers, and the bodies of attempts, in UTF-8.',
  inputTokens: 'Tokens that runtimes report.',
  outputTokens: 'Tokens that runtimes report.',
} as const
export const COUNT_NAMES = Object.keys(COUNTED) as CountName[]
export type CountName = keyof typeof COUNTED

/**
 * `class:…` counts attempts by their class, `error:…` failed messages by the code of their error,
 * and `time:…` answers by the bucket of their time. `people`
 * are the end users of the messages of a day, of a project or an agent. Maintenance counts them
 * when it is over.
 */
export type Counts = Partial<
  Record<
    CountName | `class:${AttemptClass}` | `error:${RunError['code']}` | `time:${number}` | 'people',
    number
  >
>

/**
 * Counts of an agent or a webhook at an instant, or of the project alone. The project and hooks of
 * messages have no `id`.
 */
export type Count = {
  readonly projectId: string
  readonly subject: 'project' | 'agent' | 'webhook'
  readonly id: string
  readonly at: Instant
  readonly counts: Counts
}

type SentMessage = {
  readonly projectId: string
  readonly agentId: string
  readonly message: string
  readonly parts?: readonly InputPart[] | undefined
  readonly responseSchema?: JsonObject | undefined
  readonly metadata?: JsonObject | undefined
}

export const countOfMessage = (
  { projectId, agentId, message, parts, responseSchema, metadata }: SentMessage,
  at: Instant,
): Count => {
  const bytesIn = [parts, responseSchema, metadata].reduce<number>(
    (sum, json) => sum + (json ? bytesOf(JSON.stringify(json)) : 0),
    bytesOf(message),
  )
  return { projectId, subject: 'agent', id: agentId, at, counts: { messages: 1, bytesIn } }
}

type PublishedText = {
  readonly projectId: string
  readonly body: string
  readonly createdAt: Instant
}

export const countOfPublish = (events: readonly PublishedText[]): Count => {
  const [{ projectId, createdAt: at } = { projectId: '', createdAt: 0 }] = events
  const bytesIn = events.reduce((sum, { body }) => sum + bytesOf(body), 0)
  return { projectId, subject: 'project', id: '', at, counts: { events: events.length, bytesIn } }
}

type OfAgent = { readonly projectId: string; readonly agentId: string }

/** Counts a run whose outcome is stored, and the end of its message if the outcome is its end. */
export const countOfRun = (
  of: OfAgent,
  state: MessageState,
  usage: RunUsage | undefined,
  at: Instant,
): Count => {
  const counts = endCounts(state)
  counts.runs = 1
  if (usage?.inputTokens) counts.inputTokens = usage.inputTokens
  if (usage?.outputTokens) counts.outputTokens = usage.outputTokens
  return { projectId: of.projectId, subject: 'agent', id: of.agentId, at, counts }
}

/** Counts the end of a message without a run. */
export const countOfEnd = (of: OfAgent, state: MessageState, at: Instant): Count => ({
  projectId: of.projectId,
  subject: 'agent',
  id: of.agentId,
  at,
  counts: endCounts(state),
})

function endCounts(state: MessageState): Counts {
  switch (state.kind) {
    case 'responded':
      return {
        answered: 1,
        [TIME_NAMES[timeBucket(state.responseTimeMs)] as TimeName]: 1,
        bytesOut: bytesOf(state.response),
      }
    case 'failed':
      return { failed: 1, [`error:${state.error.code}`]: 1 }
    case 'cancelled':
      return { cancelled: 1 }
    default:
      return {}
  }
}

/** The place of the bucket of a response time. */
export function timeBucket(ms: number): number {
  const at = RESPONSE_TIMES_MS.findIndex((end) => ms <= end)
  return at < 0 ? RESPONSE_TIMES_MS.length : at
}

/**
 * Returns the end of the bucket that has the given share of the times, the quickest first. Null if
 * there is none, or it is the last bucket.
 */
export function timeWithin(share: number, byTime: readonly number[]): number | null {
  let left = share * byTime.reduce((sum, count) => sum + count, 0)
  if (left === 0) return null
  return RESPONSE_TIMES_MS[byTime.findIndex((count) => (left -= count) <= 0)] ?? null
}

type EndedAttempt = {
  readonly projectId: string
  /** Empty for the hook of a message. */
  readonly webhookId: string
  readonly body: string
  readonly outcome: Outcome
  readonly startedAt: Instant
  readonly now: Instant
  readonly state: 'pending' | 'delivered' | 'exhausted'
}

type AttemptCounts = {
  readonly count: Count
  /** Counts the delivery's end, if it is in later five minutes than the start of the attempt. */
  readonly endCount?: Count
}

/** Counts an attempt at its start, and the end of its delivery now. */
export function countsOfAttempt(attempt: EndedAttempt): AttemptCounts {
  const { projectId, webhookId: id, body, outcome, startedAt, now, state } = attempt
  const counts: Counts = { attempts: 1, [CLASS_NAMES[attemptClass(outcome)]]: 1 }
  if (outcome.kind !== 'unreachable') counts.bytesOut = bytesOf(body)
  const count = { projectId, subject: 'webhook', id, at: startedAt, counts } as const
  if (state === 'pending') return { count }
  const stepMs = COUNT_STEPS[0].ms
  if (startOf(startedAt, stepMs) !== startOf(now, stepMs))
    return { count, endCount: { ...count, at: now, counts: { deliveries: 1, [state]: 1 } } }
  counts.deliveries = counts[state] = 1
  return { count }
}

/** The class of an attempt by the receiver's status. */
export function attemptClass(outcome: Outcome): AttemptClass {
  if (outcome.kind === 'unreachable') return outcome.error === 'timeout' ? 'timeout' : 'unreachable'
  if (outcome.statusCode === 429) return '429'
  if (outcome.statusCode >= 500) return '5xx'
  if (outcome.statusCode >= 400) return '4xx'
  return outcome.kind === 'accepted' ? '2xx' : '3xx'
}

export const DAY_MS = 86_400_000

/**
 * How fine counts are kept: five minutes for two days, an hour for 90 days, and a day for ever. A
 * count is added to a row of each.
 */
export const COUNT_STEPS = [
  { ms: 300_000, keptMs: 48 * 3_600_000 },
  { ms: 3_600_000, keptMs: 90 * DAY_MS },
  { ms: DAY_MS, keptMs: Infinity },
] as const

/** The first instant of the step that has the instant. */
export const startOf = (at: Instant, stepMs: number): Instant => Math.floor(at / stepMs) * stepMs

/** The sums of a subject in a step. A project has the sum of its agents and webhooks. */
export type CountRow = {
  readonly projectId: string
  readonly subject: 'project' | 'agent' | 'webhook'
  /** Empty for the project and for hooks of messages. */
  readonly id: string
  readonly stepMs: number
  readonly at: Instant
  readonly counts: Counts
}

export const keyOfCounts = ({
  projectId,
  subject,
  id,
  stepMs,
  at,
}: Omit<CountRow, 'counts'>): string => `${stepMs} ${at} ${subject} ${id} ${projectId}`

/** Returns a row for each subject and step of the counts, with their sums. */
export function rowsOfCounts(
  all: Iterable<Count | CountRow>,
  steps: readonly number[],
): CountRow[] {
  const rows = new Map<string, CountRow>()
  const add = (row: CountRow) => {
    const key = keyOfCounts(row)
    const known = rows.get(key)
    if (known) addCounts(known.counts, row.counts)
    else rows.set(key, { ...row, counts: { ...row.counts } })
  }
  for (const one of all)
    if ('stepMs' in one) add(one)
    else
      for (const stepMs of steps) {
        const at = startOf(one.at, stepMs)
        if (one.subject !== 'project') add({ ...one, stepMs, at })
        add({ ...one, stepMs, at, subject: 'project', id: '' })
      }
  return [...rows.values()]
}

/** The end users of a project's day, and of each of its agents. */
export type PeopleOfDay = {
  readonly people: number
  readonly ofAgents: Readonly<Record<string, number>>
}

/** The rows of a day that have its people: of the project and of its agents. */
export function rowsOfPeople(
  projectId: string,
  at: Instant,
  { people, ofAgents }: PeopleOfDay,
): CountRow[] {
  const day = { projectId, stepMs: DAY_MS, at }
  return [
    { ...day, subject: 'project', id: '', counts: { people } },
    ...Object.entries(ofAgents).map(
      ([id, count]) => ({ ...day, subject: 'agent', id, counts: { people: count } }) as const,
    ),
  ]
}

/**
 * Returns the rows with people and what the known rows count. A day is counted again if the clock
 * was set back, and people can have been erased since. A row needs counts or people.
 */
export function withPeople(rows: readonly CountRow[], known: readonly CountRow[]): CountRow[] {
  const before = new Map(known.map((row) => [keyOfCounts(row), row.counts]))
  return rows.flatMap((row) => {
    const counts = before.get(keyOfCounts(row))
    const people = Math.max(counts?.people ?? 0, row.counts.people ?? 0)
    return counts || people > 0 ? { ...row, counts: { ...counts, people } } : []
  })
}

const encoder = new TextEncoder()

/** Encodes only a text that needs it, because most texts are short and ASCII. */
const bytesOf = (text: string): number =>
  /[\u0080-\uffff]/.test(text) ? encoder.encode(text).length : text.length

/** Adds to `sum`. */
export function addCounts(sum: Counts, added: Counts): Counts {
  for (const name in added) {
    const count = name as keyof Counts
    const more = added[count]
    if (more) sum[count] = (sum[count] ?? 0) + more
  }
  return sum
}

/** Returns the sum of each subject in each five minutes. */
export function sumOfCounts(all: Iterable<Count>): Count[] {
  const sums: Count[] = []
  // A key of all fields would cost five times as much.
  const byId = new Map<string, Count[]>()
  for (const { projectId, subject, id, at, counts } of all) {
    const start = startOf(at, COUNT_STEPS[0].ms)
    const key = id || projectId
    const same = byId.get(key) ?? []
    const known = same.find(
      (sum) => sum.at === start && sum.subject === subject && sum.projectId === projectId,
    )
    if (known) addCounts(known.counts, counts)
    else {
      const sum = { projectId, subject, id, at: start, counts: { ...counts } }
      sums.push(sum)
      same.push(sum)
      byId.set(key, same)
    }
  }
  return sums
}
