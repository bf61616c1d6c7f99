import { groupBy } from './group-by.js'
import type { Fault, History, ReceivedRequest, Rules } from './history.js'
import { isSuccess } from './outbox.js'
import type { Invariant } from './violation.js'

/**
 * 6. The receiver of a `delivered` delivery answered 2xx. Each request without a recorded attempt
 * has a fault near it.
 */
export const delivered: Invariant = function* (history) {
  const byDelivery = groupBy(history.received, ({ headers }) => headers['webhook-id'] ?? '')
  const recorded = new Set(
    history.final.deliveries.flatMap(({ attempts }) => attempts.map(({ receipt }) => receipt)),
  )
  for (const { deliveryId, status, attempts } of history.final.deliveries) {
    const requests = byDelivery.get(deliveryId) ?? []
    if (status === 'delivered' && !requests.some(({ answer }) => isSuccess(answer)))
      yield {
        of: deliveryId,
        problem: 'the delivery is delivered, but its receiver did not answer 2xx',
      }
    for (const { receipt, attemptNumber, statusCode } of attempts.filter(
      ({ outcome }) => outcome !== 'unreachable',
    ))
      if (
        !requests.some(
          (request) => request.receipt === receipt && request.answer?.status === statusCode,
        )
      )
        yield {
          of: deliveryId,
          problem: `attempt ${attemptNumber} records an answer that its receiver did not give`,
        }
    const silent = attempts.filter(({ outcome }) => outcome === 'unreachable').length
    // On a busy machine a receiver can answer after the service timed out. Such an attempt is
    // recorded without an answer.
    const unrecorded = requests
      .filter((request) => !recorded.has(request.receipt) && wasAnsweredInTime(history, request))
      .slice(silent)
    // The result of an attempt is refused if its delivery was cancelled during the attempt.
    yield* unexplained(
      history,
      deliveryId,
      status === 'cancelled' ? unrecorded.slice(0, -1) : unrecorded,
    )
  }
}

/** One process at a time sends a delivery, so a fault explains at most one unrecorded request. */
function* unexplained(
  { faults, rules }: History,
  of: string,
  requests: readonly ReceivedRequest[],
) {
  const near = faults.filter((fault) => requests.some(({ at }) => explains(fault, at, rules)))
  if (requests.some(({ at }) => !near.some((fault) => explains(fault, at, rules))))
    yield { of, problem: 'a request has no record and no fault near it' }
  else if (near.length < requests.length)
    yield {
      of,
      problem: `${requests.length} requests have no record, with fewer faults near them`,
    }
}

/** The longest time between a send and its receipt on a busy machine. */
const NEAR_MS = 3_000

/**
 * Returns true if the fault prevented the record of the request's answer, or if the request came
 * late from a process that had lost its lease during the fault.
 */
function explains(
  { at, until, byMs }: Fault,
  requestAt: number,
  { deliveryTimeoutMs, deliveryLeaseMs }: Rules,
): boolean {
  const losesLeases = byMs !== undefined || until - at >= deliveryLeaseMs
  const felt = losesLeases ? deliveryLeaseMs + deliveryTimeoutMs : NEAR_MS
  return at <= requestAt + deliveryTimeoutMs + NEAR_MS && until >= requestAt - felt
}

/** Returns false for a cut or late answer: the service cannot know that the receiver accepted. */
const wasAnsweredInTime = ({ rules }: History, { at, answer }: ReceivedRequest): boolean =>
  answer !== undefined && answer.at - at < rules.deliveryTimeoutMs
