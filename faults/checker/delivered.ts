import { groupBy } from './group-by.js'
import type { Fault, History, ReceivedRequest, Rules } from './history.js'
import { isSuccess } from './outbox.js'
import type { Invariant } from './violation.js'

/** 6. `delivered` means that the receiver said so; and what it got beside the recorded attempts is no more than the faults around that. */
export const delivered: Invariant = function* (history) {
  const byDelivery = groupBy(history.received, ({ headers }) => headers['webhook-id'] ?? '')
  const recorded = new Set(
    history.final.deliveries.flatMap(({ attempts }) => attempts.map(({ receipt }) => receipt)),
  )
  for (const { deliveryId, status, attempts } of history.final.deliveries) {
    const requests = byDelivery.get(deliveryId) ?? []
    if (status === 'delivered' && !requests.some(({ answer }) => isSuccess(answer)))
      yield { of: deliveryId, what: 'it counts as delivered, and its receiver never said so' }
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
          what: `attempt ${attemptNumber} records an answer that its receiver did not give`,
        }
    const silent = attempts.filter(({ outcome }) => outcome === 'unreachable').length
    // A receiver that had no time of the machine took a request, by its own clock, after the service had given it up: that attempt is recorded, without an answer.
    const unrecorded = requests
      .filter((request) => !recorded.has(request.receipt) && wasAnsweredInTime(history, request))
      .slice(silent)
    // Of one that is cancelled while it is under way the result is refused.
    yield* inexcusable(
      history,
      deliveryId,
      status === 'cancelled' ? unrecorded.slice(0, -1) : unrecorded,
    )
  }
}

/** One process at a time sends a delivery, so a fault explains at most one request of it that nobody remembers. */
function* inexcusable(
  { faults, rules }: History,
  of: string,
  requests: readonly ReceivedRequest[],
) {
  const near = faults.filter((fault) => requests.some(({ at }) => explains(fault, at, rules)))
  if (requests.some(({ at }) => !near.some((fault) => explains(fault, at, rules))))
    yield { of, what: 'it was sent without a record, and no fault was near' }
  else if (near.length < requests.length)
    yield {
      of,
      what: `it was sent ${requests.length} times without a record, with fewer faults near`,
    }
}

/** Between two processes that do the same thing, such as to send and to receive, on a machine that has other things to do. */
const NEAR_MS = 3_000

/** The fault came before the request's answer could be recorded; or the request came late, from a process whose lease the fault had outlasted. */
function explains(
  { at, until, byMs }: Fault,
  requestAt: number,
  { deliveryTimeoutMs, deliveryLeaseMs }: Rules,
): boolean {
  const losesLeases = byMs !== undefined || until - at >= deliveryLeaseMs
  const felt = losesLeases ? deliveryLeaseMs + deliveryTimeoutMs : NEAR_MS
  return at <= requestAt + deliveryTimeoutMs + NEAR_MS && until >= requestAt - felt
}

/** What the receiver cut or kept waiting is no duplicate of ours: the service cannot know that it was taken. */
const wasAnsweredInTime = ({ rules }: History, { at, answer }: ReceivedRequest): boolean =>
  answer !== undefined && answer.at - at < rules.deliveryTimeoutMs
