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

/** The limits of a project: of all its sends together, and of each of its API keys. */
export type SendLimits = {
  readonly project?: SendLimit | undefined
  readonly key?: SendLimit | undefined
}

export const hasLimits = ({ project, key }: SendLimits): boolean =>
  project !== undefined || key !== undefined

/**
 * A token that a new message takes. `bucket` is unique over all projects. A platform key has a
 * bucket in each project, because the limits of projects differ.
 */
export type TokenTake = {
  readonly bucket: string
  readonly of: 'project' | 'key' | 'caller'
  readonly limit: SendLimit
}

/** A bucket after a send. `retryInMs` is 0 if it has a token. */
export type BucketLevel = Pick<TokenTake, 'of' | 'limit'> & {
  readonly remaining: number
  readonly fullInMs: number
  readonly retryInMs: number
}

/** By bucket, the time when it is full again, in microseconds since 1970. */
export type FullTimes = ReadonlyMap<string, number>

const MICROS_PER_MINUTE = 60_000_000

/** Returns the time in which the bucket gains one token, in microseconds. */
export const tokenMicros = ({ messagesPerMinute }: SendLimit): number =>
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

/**
 * Takes one token from each bucket, or from none. A stored time that lies too far ahead counts as
 * an empty bucket. Store an earlier time also for a refused send. Otherwise the bucket stays empty
 * after the clock was set back, or after the limit changed.
 */
export function takeTokens(
  takes: readonly TokenTake[],
  stored: FullTimes,
  now: Instant,
): { readonly isTaken: boolean; readonly fullTimes: FullTimes; readonly levels: BucketLevel[] } {
  const nowMicros = now * 1_000
  const isTaken = takes.every(
    ({ bucket, limit }) =>
      fullTimeOf(limit, stored.get(bucket), nowMicros) + tokenMicros(limit) <=
      nowMicros + bucketMicros(limit),
  )
  const fullTimes = new Map<string, number>()
  const levels: BucketLevel[] = []
  for (const { bucket, of, limit } of takes) {
    const interval = tokenMicros(limit)
    const fullAt = fullTimeOf(limit, stored.get(bucket), nowMicros) + (isTaken ? interval : 0)
    const spareMicros = nowMicros + bucketMicros(limit) - fullAt
    fullTimes.set(bucket, fullAt)
    levels.push({
      of,
      limit,
      remaining: Math.floor(spareMicros / interval),
      fullInMs: Math.ceil((fullAt - nowMicros) / 1_000),
      retryInMs: Math.max(0, Math.ceil((interval - spareMicros) / 1_000)),
    })
  }
  return { isTaken, fullTimes, levels }
}

/** Returns the time that an empty bucket takes to fill, in microseconds. */
const bucketMicros = (limit: SendLimit): number => tokenMicros(limit) * limit.burst

const fullTimeOf = (limit: SendLimit, stored: number | undefined, nowMicros: number): number =>
  Math.max(nowMicros, Math.min(stored ?? 0, nowMicros + bucketMicros(limit)))
