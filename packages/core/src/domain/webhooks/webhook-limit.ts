import type { Outcome } from './delivery.js'
import type { Instant } from '../values/instant.js'

/**
 * Why a webhook's limit has its value: it grows, it was cut because of refusals, deliveries wait
 * for its slots, or a setting or the circuit holds it.
 */
export type LimitReason = 'growing' | 'refusals' | 'slots' | 'setting' | 'circuit'

/** The most that one process sends to a webhook now. */
export type WebhookLimit = {
  /** Requests at a time. */
  readonly concurrency: number
  /** Absent if only the concurrency is limited. */
  readonly requestsPerSecond?: number
  readonly reason: LimitReason
}

/** This process's share of the limits that people set. An absent limit is adaptive. */
export type LimitCeiling = {
  readonly concurrency?: number
  readonly requestsPerSecond?: number
}

/**
 * The meaning of an outcome for the limit. `refused`: the receiver or its network had no room.
 * `failed`: the receiver answered with another failure.
 */
export type Verdict = 'accepted' | 'failed' | 'refused'

/** The end of a request. `startedAt` is in elapsed time. */
export type Answer = {
  readonly verdict: Verdict
  readonly startedAt: Instant
  /** The wait that a refusal asks for. 0: none. */
  readonly retryAfterMs: number
}

const NO_ROOM: ReadonlySet<number> = new Set([429, 502, 503, 504])
const NO_ANSWER: ReadonlySet<string> = new Set(['connect', 'tls', 'reset', 'timeout'])
const OUR_FAULTS: ReadonlySet<string> = new Set(['unsealable_secret', 'interrupted'])

/** Returns undefined for an outcome that says nothing about the receiver. */
export function verdictOn(outcome: Outcome): Verdict | undefined {
  if (outcome.kind === 'accepted') return 'accepted'
  if (outcome.kind === 'refused') return NO_ROOM.has(outcome.statusCode) ? 'refused' : 'failed'
  if (OUR_FAULTS.has(outcome.error)) return undefined
  return NO_ANSWER.has(outcome.error) ? 'refused' : 'failed'
}
