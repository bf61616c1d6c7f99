import type { Instant } from '../domain/instant.js'
import type { MessageStateKind } from '../domain/message.js'

/**
 * Asks for a project's activity since `since`, counted in buckets of `bucketMs` that begin at
 * multiples of it since 1970. A store reads the `newest` rows at most.
 */
export type ActivityQuery = {
  readonly projectId: string
  readonly since: Instant
  readonly bucketMs: number
  readonly newest: number
}

/** Messages accepted in the bucket that begins at `at`, by their state now. */
export type MessageCount = {
  readonly at: Instant
  readonly state: MessageStateKind
  readonly count: number
}

/**
 * Attempts that began in the bucket. `statusCode` is the receiver's, or 0 if the request did not
 * reach it.
 */
export type AttemptCount = {
  readonly at: Instant
  readonly webhookId: string
  readonly statusCode: number
  readonly count: number
}
