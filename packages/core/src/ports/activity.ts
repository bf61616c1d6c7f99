import type { Instant } from '../domain/instant.js'
import type { MessageStateKind } from '../domain/message.js'

/**
 * What a project did from `since` on, counted in buckets of `bucketMs`, which begin at its multiples since 1970. `newest` bounds the
 * reading, however much there was: no more rows than that are looked at, newest first.
 */
export type ActivityQuery = {
  readonly projectId: string
  readonly since: Instant
  readonly bucketMs: number
  readonly newest: number
}

/** Messages that were accepted in the bucket beginning at `at`, by the state that they are in now. */
export type MessageCount = {
  readonly at: Instant
  readonly state: MessageStateKind
  readonly count: number
}

/** Attempts that were begun in that bucket. `statusCode` is the receiver's; 0 when it was not reached. */
export type AttemptCount = {
  readonly at: Instant
  readonly webhookId: string
  readonly statusCode: number
  readonly count: number
}
