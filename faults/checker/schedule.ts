import { faultsAround, skewOf } from './faults-around.js'
import type { FinalAttempt, History, ReceivedRequest } from './history.js'
import type { Invariant } from './violation.js'

/**
 * 5. Attempts have the numbers 1..n. No attempt follows a success. After a failure, the next
 * attempt waits for the schedule and for `Retry-After`.
 */
export const schedule: Invariant = function* (history) {
  const receipts = new Map(history.received.map((request) => [request.receipt, request]))
  for (const { deliveryId, attempts, redeliveredAt = [] } of history.final.deliveries) {
    for (const [index, attempt] of attempts.entries()) {
      if (attempt.attemptNumber !== index + 1)
        yield {
          of: deliveryId,
          problem: `attempt ${index + 1} has number ${attempt.attemptNumber}`,
        }
      const before = attempts[index - 1]
      // A redelivery does not wait and starts the schedule again.
      if (
        redeliveredAt.some((at) => at <= attempt.startedAt + attempt.durationMs + skewOf(history))
      )
        continue
      if (before?.outcome === 'accepted' && !isLateRecord(attempt, before, redeliveredAt))
        yield { of: deliveryId, problem: 'an attempt follows a success' }
      else if (
        before &&
        isEarly(history, before, attempt, receipts.get(before.receipt ?? ''), index - 1)
      )
        yield {
          of: deliveryId,
          problem: `attempt ${index + 1} is earlier than the schedule`,
        }
    }
  }
}

/** A success of an earlier request counts for a redelivery too. No request followed a success. */
const isLateRecord = (
  attempt: FinalAttempt,
  before: FinalAttempt,
  redeliveredAt: readonly number[],
): boolean =>
  redeliveredAt.length > 0 && attempt.outcome === 'accepted' && attempt.startedAt < before.startedAt

function isEarly(
  history: History,
  before: FinalAttempt,
  next: FinalAttempt,
  received: ReceivedRequest | undefined,
  step: number,
): boolean {
  const { delaysMs, deliveryLeaseMs } = history.rules
  const wait = Math.max(delaysMs[step] ?? 0, received?.answer?.retryAfterMs ?? 0)
  const gap = next.startedAt - (before.startedAt + before.durationMs)
  // A jump of a clock can change both stored times.
  if (gap + 2 * skewOf(history) >= wait) return false
  // A success of a superseded claim counts too, and its attempt can be older than the one before.
  const from = Math.min(before.startedAt, next.startedAt)
  const to = Math.max(before.startedAt, next.startedAt)
  return (
    next.outcome !== 'accepted' || faultsAround(history, from, to, deliveryLeaseMs).length === 0
  )
}
