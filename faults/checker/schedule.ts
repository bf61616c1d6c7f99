import { faultsAround, skewOf } from './excuse.js'
import type { FinalAttempt, History, ReceivedRequest } from './history.js'
import type { Invariant } from './violation.js'

/** 5. Attempts are numbered 1..n, nothing follows a success, and after a failure the schedule and `Retry-After` are waited for. */
export const schedule: Invariant = function* (history) {
  const receipts = new Map(history.received.map((request) => [request.receipt, request]))
  for (const { deliveryId, attempts, redeliveredAt = [] } of history.final.deliveries) {
    for (const [index, attempt] of attempts.entries()) {
      if (attempt.attemptNumber !== index + 1)
        yield { of: deliveryId, what: `attempt ${attempt.attemptNumber} is the ${index + 1}. one` }
      const before = attempts[index - 1]
      // Somebody who asks for it does not wait, and has it begin anew.
      if (
        redeliveredAt.some((at) => at <= attempt.startedAt + attempt.durationMs + skewOf(history))
      )
        continue
      if (before?.outcome === 'accepted')
        yield { of: deliveryId, what: 'it was attempted again after a success' }
      else if (
        before &&
        isEarly(history, before, attempt, receipts.get(before.receipt ?? ''), index - 1)
      )
        yield { of: deliveryId, what: `attempt ${index + 1} came earlier than the schedule says` }
    }
  }
}

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
  // A clock that jumps between reading the time and storing it spoils both ends of the gap.
  if (gap + 2 * skewOf(history) >= wait) return false
  // A success counts however late it is told, also when it belongs to a claim that another one superseded: which may have begun before it.
  const [from, to] = [
    Math.min(before.startedAt, next.startedAt),
    Math.max(before.startedAt, next.startedAt),
  ]
  return (
    next.outcome !== 'accepted' || faultsAround(history, from, to, deliveryLeaseMs).length === 0
  )
}
