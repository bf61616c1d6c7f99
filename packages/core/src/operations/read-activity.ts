import { ok, safeTry } from 'neverthrow'
import type { Instant } from '../domain/instant.js'
import type { AttemptCount, MessageCount } from '../ports/activity.js'
import type { Stored } from '../ports/stored.js'
import type { Platform } from '../platform.js'

export type ReadActivityInput = {
  readonly projectId: string
  readonly bucketMs: number
  readonly buckets: number
}

/** `since` is where the first bucket begins; the last one is not over yet. Buckets in which nothing happened have no counts. */
export type Activity = {
  readonly since: Instant
  readonly now: Instant
  /** So many messages of each agent were looked at, and so many of all deliveries: of what is older nothing is counted. */
  readonly newest: number
  readonly messages: readonly MessageCount[]
  readonly attempts: readonly AttemptCount[]
}

/** So that a glance at a busy project costs milliseconds: beyond it charts show its newest part. */
const MOST_LOOKED_AT = 5_000

/** What the project did of late: in the last `buckets` stretches of `bucketMs`. */
export const readActivity =
  (d: Platform) =>
  ({ projectId, bucketMs, buckets }: ReadActivityInput): Stored<Activity> =>
    safeTry(async function* () {
      const now = d.clock.now()
      const since = (Math.floor(now / bucketMs) - buckets + 1) * bucketMs
      const query = { projectId, since, bucketMs, newest: MOST_LOOKED_AT }
      const messages = yield* d.storage.messages.activity(query)
      const attempts = yield* d.storage.deliveries.activity(query)
      return ok({ since, now, newest: MOST_LOOKED_AT, messages, attempts })
    })
