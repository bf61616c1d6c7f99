import { ok, safeTry } from 'neverthrow'
import type { Instant } from '../domain/instant.js'
import type { AttemptCount, MessageCount } from '../ports/activity.js'
import type { Platform } from '../platform.js'

export type ReadActivityInput = {
  readonly projectId: string
  readonly bucketMs: number
  readonly buckets: number
}

/**
 * `since` is the start of the first bucket. The last bucket is not over yet. Empty buckets have no
 * counts.
 */
export type Activity = {
  readonly since: Instant
  readonly now: Instant
  /**
   * The number of messages of each agent, and of all deliveries, that were read. Older ones are
   * not counted.
   */
  readonly newest: number
  readonly messages: readonly MessageCount[]
  readonly attempts: readonly AttemptCount[]
}

/** A bound that keeps the overview of a busy project fast: charts then show its newest part. */
const MOST_LOOKED_AT = 5_000

export const readActivity =
  (d: Platform) =>
  ({ projectId, bucketMs, buckets }: ReadActivityInput) =>
    safeTry(async function* () {
      const now = d.clock.now()
      const since = (Math.floor(now / bucketMs) - buckets + 1) * bucketMs
      const query = { projectId, since, bucketMs, newest: MOST_LOOKED_AT }
      const messages = yield* d.storage.messages.activity(query)
      const attempts = yield* d.storage.deliveries.activity(query)
      return ok({ since, now, newest: MOST_LOOKED_AT, messages, attempts })
    })
