import type { Instant } from '../values/instant.js'

/** Final states have `finishedAt`. A recovery fails if its webhook is deleted. */
export type RecoveryState =
  | { readonly kind: 'running' }
  | { readonly kind: 'done' | 'cancelled'; readonly finishedAt: Instant }
  | { readonly kind: 'failed'; readonly finishedAt: Instant; readonly reason: 'webhook_deleted' }

/** How far a recovery is. It goes from the newest delivery to the oldest. */
export type RecoveryProgress = {
  readonly state: RecoveryState
  /** Deliveries that match the filter so far. */
  readonly matched: number
  /** Matches that are due again. The others were due already, or an attempt was running. */
  readonly redelivered: number
  /** The cursor of the next page. Absent before the first page and after the last one. */
  readonly cursor?: string
}

type RecoveredPage = {
  readonly matched: number
  readonly count: number
  readonly nextCursor: string | null
}

/** Returns the progress after one more page. The last page ends the recovery. */
export function recoveryAfterPage(
  before: RecoveryProgress,
  { matched, count, nextCursor }: RecoveredPage,
  now: Instant,
): RecoveryProgress {
  const counts = {
    matched: before.matched + matched,
    redelivered: before.redelivered + count,
  }
  return nextCursor === null
    ? { ...counts, state: { kind: 'done', finishedAt: now } }
    : { ...counts, state: before.state, cursor: nextCursor }
}
