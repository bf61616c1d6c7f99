import type { Instant } from './instant.js'
import type { JsonObject } from './json.js'

export const USAGE_COUNTS = [
  'messages',
  'runs',
  'deliveries',
  'attempts',
  'bytesIn',
  'bytesOut',
  'inputTokens',
  'outputTokens',
] as const

/**
 * Counts of a project. `runs` are runs whose outcome was stored, `deliveries` are deliveries that
 * were delivered or exhausted. `bytesIn` has the UTF-8 bytes of messages with their metadata,
 * `bytesOut` the bytes of answers and of the bodies of attempts.
 */
export type UsageCounts = { readonly [C in (typeof USAGE_COUNTS)[number]]: number }

/** Counts for a project and a day, in days since 1970 (UTC). */
export type Usage = {
  readonly projectId: string
  readonly day: number
  readonly counts: Partial<UsageCounts>
}

/** The tokens of a model that a run used, as its runtime reports them. */
export type RunUsage = { readonly inputTokens?: number; readonly outputTokens?: number }

type SentMessage = {
  readonly projectId: string
  readonly message: string
  readonly metadata?: JsonObject | undefined
}

const DAY_MS = 86_400_000
const encoder = new TextEncoder()

export const dayOf = (at: Instant): number => Math.floor(at / DAY_MS)

/** Returns the first instant of the day. */
export const startOfDay = (day: number): Instant => day * DAY_MS

export const usageOfMessage = (
  { projectId, message, metadata }: SentMessage,
  now: Instant,
): Usage => {
  const bytesIn = bytesOf(message) + (metadata ? bytesOf(JSON.stringify(metadata)) : 0)
  return { projectId, day: dayOf(now), counts: { messages: 1, bytesIn } }
}

export const usageOfRun = (
  projectId: string,
  { response, usage = {} }: { readonly response?: string; readonly usage?: RunUsage | undefined },
  now: Instant,
): Usage => {
  const { inputTokens = 0, outputTokens = 0 } = usage
  const bytesOut = response === undefined ? 0 : bytesOf(response)
  return { projectId, day: dayOf(now), counts: { runs: 1, bytesOut, inputTokens, outputTokens } }
}

/** `isSent`: a receiver answered. `isEnd`: the attempt ended its delivery. */
export const usageOfAttempt = (
  projectId: string,
  { body, isSent, isEnd }: { body: string; isSent: boolean; isEnd: boolean },
  now: Instant,
): Usage => {
  const bytesOut = isSent ? bytesOf(body) : 0
  const counts = { attempts: 1, bytesOut, ...(isEnd && { deliveries: 1 }) }
  return { projectId, day: dayOf(now), counts }
}

/** Returns the sum, with all counts. */
export const sumOfUsage = (all: readonly Partial<UsageCounts>[]): UsageCounts =>
  all.reduce<UsageCounts>(addCounts, NO_COUNTS)

const NO_COUNTS: UsageCounts = {
  messages: 0,
  runs: 0,
  deliveries: 0,
  attempts: 0,
  bytesIn: 0,
  bytesOut: 0,
  inputTokens: 0,
  outputTokens: 0,
}

/** Names each count, because a loop over the names takes ten times as long. */
const addCounts = (sum: UsageCounts, added: Partial<UsageCounts>): UsageCounts => ({
  messages: sum.messages + (added.messages ?? 0),
  runs: sum.runs + (added.runs ?? 0),
  deliveries: sum.deliveries + (added.deliveries ?? 0),
  attempts: sum.attempts + (added.attempts ?? 0),
  bytesIn: sum.bytesIn + (added.bytesIn ?? 0),
  bytesOut: sum.bytesOut + (added.bytesOut ?? 0),
  inputTokens: sum.inputTokens + (added.inputTokens ?? 0),
  outputTokens: sum.outputTokens + (added.outputTokens ?? 0),
})

/** Encodes only a text that needs it, because most texts are short and ASCII. */
const bytesOf = (text: string): number =>
  /[\u0080-\uffff]/.test(text) ? encoder.encode(text).length : text.length

/** A larger count of tokens is a fault of the runtime. */
const MOST_TOKENS = 1_000_000_000_000

/** Returns the usage that a runtime reported, without fields that are not token counts. */
export function parseRunUsage(given: unknown): RunUsage | undefined {
  if (typeof given !== 'object' || given === null) return undefined
  const { inputTokens, outputTokens } = given as Record<string, unknown>
  const usage = {
    ...(isTokenCount(inputTokens) && { inputTokens }),
    ...(isTokenCount(outputTokens) && { outputTokens }),
  }
  return Object.keys(usage).length > 0 ? usage : undefined
}

const isTokenCount = (count: unknown): count is number =>
  Number.isSafeInteger(count) && (count as number) >= 0 && (count as number) <= MOST_TOKENS
