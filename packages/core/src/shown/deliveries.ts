import {
  deliveryStatusOf,
  type CancelReason,
  type DeliveryAttempt,
  type DeliveryState,
  type DeliveryStatus,
  type LastFailure,
  type Outcome,
  type WebhookDelivery,
} from '../domain/webhooks/delivery.js'
import type { UnreachableError } from '../domain/values/unreachable-error.js'
import { toIso, withIso, type WithIso } from '../domain/values/instant.js'
import type { DeliveryDetail } from '../ports/delivery-store.js'

/** A delivery as callers of the API and of the host see it. Times are ISO 8601 in UTC. */
export type ShownDelivery = Place &
  WithIso<Omit<WebhookDelivery, 'projectId' | 'state' | 'orderKey'>> & {
    readonly status: DeliveryStatus
  }
type Place = {
  /** Present while the delivery is `pending`, is not being sent and is not blocked. */
  readonly nextAttemptAt?: string
  /** The delivery that comes first in the order of its session. Present while this one waits. */
  readonly blockedBy?: string
  readonly deliveredAt?: string
  readonly exhaustedAt?: string
  readonly cancelledAt?: string
  readonly cancelledReason?: CancelReason
}

/** A delivery with the body of every attempt, exactly as signed. */
export type ShownDeliveryDetail = ShownDelivery & {
  readonly body: string
  readonly attempts: readonly ShownAttempt[]
}

export type ShownAttempt = ShownOutcome & WithIso<Omit<DeliveryAttempt, 'outcome'>>
type ShownOutcome = {
  /** `accepted` means a 2xx status. */
  readonly outcome: Outcome['kind']
  readonly statusCode?: number
  /** The first 16 KiB of the answer's body. */
  readonly responseBody?: string
  /** Present with `detail` if the outcome is `unreachable`. */
  readonly error?: UnreachableError
  readonly detail?: string
}
export type ShownLastFailure = ShownOutcome & WithIso<Omit<LastFailure, 'outcome' | 'webhookId'>>

export const shownDelivery = ({
  projectId: _,
  orderKey: __,
  state,
  ...delivery
}: WebhookDelivery): ShownDelivery => ({
  ...withIso(delivery),
  status: deliveryStatusOf(state),
  ...placeOf(state),
})

export const shownDeliveryDetail = ({
  delivery,
  body,
  attempts,
}: DeliveryDetail): ShownDeliveryDetail => ({
  ...shownDelivery(delivery),
  body,
  attempts: attempts.map(shownAttempt),
})

export const shownAttempt = ({ outcome, ...attempt }: DeliveryAttempt): ShownAttempt => ({
  ...withIso(attempt),
  ...shownOutcome(outcome),
})

export const shownLastFailure = ({
  webhookId: _,
  outcome,
  ...attempt
}: LastFailure): ShownLastFailure => ({ ...withIso(attempt), ...shownOutcome(outcome) })

const shownOutcome = ({ kind: outcome, ...details }: Outcome): ShownOutcome => {
  if ('error' in details) return { outcome, error: details.error, detail: details.detail }
  return { outcome, statusCode: details.statusCode, responseBody: details.responseBody }
}

function placeOf(state: DeliveryState): Place {
  switch (state.kind) {
    case 'pending':
      return { nextAttemptAt: toIso(state.nextAttemptAt) }
    case 'sending':
      return {}
    case 'waiting':
      return { blockedBy: state.blockedBy }
    case 'delivered':
      return { deliveredAt: toIso(state.deliveredAt) }
    case 'exhausted':
      return { exhaustedAt: toIso(state.exhaustedAt) }
    case 'cancelled':
      return { cancelledAt: toIso(state.cancelledAt), cancelledReason: state.reason }
  }
}
