import type { Instant } from '../values/instant.js'
import type { SettingsOf } from '../values/setting.js'

/**
 * A token bucket for sends. The bucket holds `burst` tokens and gains `messagesPerMinute` tokens
 * per minute. Each new message takes one token.
 */
export type SendLimit = { readonly messagesPerMinute: number; readonly burst: number }

const count = { type: 'integer', minimum: 1, maximum: 10_000_000, required: true } as const
export const sendLimitSettings = {
  messagesPerMinute: count,
  burst: count,
} as const satisfies SettingsOf<SendLimit>

/** A token bucket for published events. Each new event takes one token. */
export type EventLimit = { readonly eventsPerMinute: number; readonly burst: number }
export const eventLimitSettings = {
  eventsPerMinute: count,
  burst: count,
} as const satisfies SettingsOf<EventLimit>

/**
 * The limits of a project: of all its sends together, of each of its API keys, and of all its
 * published events.
 */
export type SendLimits = {
  readonly project?: SendLimit | undefined
  readonly key?: SendLimit | undefined
  readonly events?: EventLimit | undefined
}

export const hasLimits = ({ project, key, events }: SendLimits): boolean =>
  (project ?? key ?? events) !== undefined

/**
 * The tokens that a new message, or each new event of a request, takes. `bucket` is unique over all projects. A platform key has a
 * bucket in each project, because the limits of projects differ.
 */
export type TokenTake = {
  readonly bucket: string
  readonly of: 'project' | 'key' | 'caller' | 'events'
  readonly limit: SendLimit
}

/** A bucket after a send. `retryInMs` is 0 if it has the tokens of such a send. */
export type BucketLevel = Pick<TokenTake, 'of' | 'limit'> & {
  readonly remaining: number
  readonly fullInMs: number
  readonly retryInMs: number
}

/** By bucket, the time when it is full again, in microseconds since 1970. */
export type FullTimes = ReadonlyMap<string, number>

const MICROS_PER_MINUTE = 60_000_000

/** Returns the time in which the bucket gains one token, in microseconds. */
const tokenMicros = ({ messagesPerMinute }: SendLimit): number =>
  Math.max(1, Math.round(MICROS_PER_MINUTE / messagesPerMinute))

type Sender = {
  readonly projectId: string
  readonly apiKeyId?: string | undefined
  /** The caller without an API key, who has the limit of a key. */
  readonly caller?: string | undefined
}

/**
 * Returns the buckets that a send takes a token from. The project's limits replace the defaults.
 */
export function tokenTakes(
  byDefault: SendLimits,
  own: SendLimits | undefined,
  { projectId, apiKeyId, caller }: Sender,
): TokenTake[] {
  const key = own?.key ?? byDefault.key
  return [
    ...takeOf('project', projectId, own?.project ?? byDefault.project),
    ...(caller === undefined
      ? takeOf('key', apiKeyId && `${projectId} ${apiKeyId}`, key)
      : takeOf('caller', `${projectId} ${caller}`, key)),
  ]
}

const takeOf = (
  of: TokenTake['of'],
  name: string | undefined,
  limit: SendLimit | undefined,
): TokenTake[] => (limit && name !== undefined ? [{ bucket: `${of} ${name}`, of, limit }] : [])

/** Returns the bucket that new events take their tokens from. */
export function eventTakes(
  byDefault: SendLimits,
  own: SendLimits | undefined,
  projectId: string,
): TokenTake[] {
  const limit = own?.events ?? byDefault.events
  if (!limit) return []
  const { eventsPerMinute: messagesPerMinute, burst } = limit
  return takeOf('events', projectId, { messagesPerMinute, burst })
}

/** Returns the time in which the bucket gains the tokens that `count` new events take. */
export const takenMicros = (limit: SendLimit, count: number): number =>
  tokenMicros(limit) * Math.min(count, limit.burst)

/**
 * Takes `count` tokens from each bucket, or from none. A bucket that is smaller must be full, and
 * is empty then. A stored time that lies too far ahead counts as
 * an empty bucket. Store an earlier time also for a refused send. Otherwise the bucket stays empty
 * after the clock was set back, or after the limit changed.
 */
export function takeTokens(
  takes: readonly TokenTake[],
  stored: FullTimes,
  now: Instant,
  count = 1,
): { readonly isTaken: boolean; readonly fullTimes: FullTimes; readonly levels: BucketLevel[] } {
  const nowMicros = now * 1_000
  const isTaken = takes.every(
    ({ bucket, limit }) =>
      fullTimeOf(limit, stored.get(bucket), nowMicros) + takenMicros(limit, count) <=
      nowMicros + bucketMicros(limit),
  )
  const fullTimes = new Map<string, number>()
  const levels: BucketLevel[] = []
  for (const { bucket, of, limit } of takes) {
    const taken = takenMicros(limit, count)
    const fullAt = fullTimeOf(limit, stored.get(bucket), nowMicros) + (isTaken ? taken : 0)
    const spareMicros = nowMicros + bucketMicros(limit) - fullAt
    fullTimes.set(bucket, fullAt)
    levels.push({
      of,
      limit,
      remaining: Math.floor(spareMicros / tokenMicros(limit)),
      fullInMs: Math.ceil((fullAt - nowMicros) / 1_000),
      retryInMs: Math.max(0, Math.ceil((taken - spareMicros) / 1_000)),
    })
  }
  return { isTaken, fullTimes, levels }
}

/** Returns the time that an empty bucket takes to fill, in microseconds. */
const bucketMicros = (limit: SendLimit): number => tokenMicros(limit) * limit.burst

const fullTimeOf = (limit: SendLimit, stored: number | undefined, nowMicros: number): number =>
  Math.max(nowMicros, Math.min(stored ?? 0, nowMicros + bucketMicros(limit)))
