import {
  deliveryStatusOf,
  toIso,
  type DeliveryAttempt,
  type DeliveryDetail,
  type DeliveryState,
  type Outcome,
  type WebhookDelivery,
} from '@org/agent-messaging-core'

export const deliveryBody = ({ id, webhookId, eventId, event, state, attemptCount, createdAt }: WebhookDelivery) => ({
  ...{ id, webhookId, eventId, event },
  status: deliveryStatusOf(state),
  attemptCount,
  ...timesOf(state),
  createdAt: toIso(createdAt),
})

/** With what was, or will be, sent: `body` holds the characters of every attempt, as they are signed. */
export const deliveryDetailBody = ({ delivery, body, attempts }: DeliveryDetail) => ({
  ...deliveryBody(delivery),
  body,
  attempts: attempts.map(attemptBody),
})

const attemptBody = ({ attemptNumber, startedAt, durationMs, requestHeaders, outcome }: DeliveryAttempt) => ({
  attemptNumber,
  startedAt: toIso(startedAt),
  durationMs,
  ...(requestHeaders && { requestHeaders }),
  outcome: outcome.kind,
  ...outcomeOf(outcome),
})

const outcomeOf = (outcome: Outcome) =>
  outcome.kind === 'unreachable'
    ? { error: outcome.error, detail: outcome.detail }
    : { statusCode: outcome.statusCode, responseBody: outcome.responseBody }

function timesOf(state: DeliveryState) {
  switch (state.kind) {
    case 'pending':
      return { nextAttemptAt: toIso(state.nextAttemptAt) }
    case 'sending':
      return {}
    case 'delivered':
      return { deliveredAt: toIso(state.deliveredAt) }
    case 'exhausted':
      return { exhaustedAt: toIso(state.exhaustedAt) }
    case 'cancelled':
      return { cancelledAt: toIso(state.cancelledAt), cancelledReason: state.reason }
  }
}
