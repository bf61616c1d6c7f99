import type { EventName } from './event.js'
import type { Instant } from './instant.js'

/** One event on its way to one webhook. */
export type WebhookDelivery = {
  readonly id: string
  readonly projectId: string
  readonly webhookId: string
  readonly eventId: string
  readonly event: EventName
  readonly attemptCount: number
  readonly state: DeliveryState
  readonly createdAt: Instant
}

/**
 * `step` is the place in the retry schedule; it and the attempt number are two things.
 * `sending` is claimed: `pending` on the wire, and due again at `leaseUntil` if its process died.
 * `resumeAt`: the attempt before it is an extra one, asked for by an operator; if it fails, the schedule goes on then.
 */
export type DeliveryState =
  | {
      readonly kind: 'pending'
      readonly nextAttemptAt: Instant
      readonly step: number
      readonly resumeAt?: Instant
    }
  | {
      readonly kind: 'sending'
      readonly leaseUntil: Instant
      readonly step: number
      readonly resumeAt?: Instant
    }
  | { readonly kind: 'delivered'; readonly deliveredAt: Instant }
  | { readonly kind: 'exhausted'; readonly exhaustedAt: Instant }
  | { readonly kind: 'cancelled'; readonly cancelledAt: Instant; readonly reason: CancelReason }

/** Its webhook was deleted, or was disabled for too long or with too much waiting; or an operator did it. */
export type CancelReason = 'webhook_deleted' | 'webhook_disabled' | 'operator'

export type AfterAttempt = Extract<DeliveryState, { kind: 'pending' | 'delivered' | 'exhausted' }>
export type SendingDelivery = WebhookDelivery & {
  readonly state: Extract<DeliveryState, { kind: 'sending' }>
}

/** On the wire `sending` is `pending`: who holds a claim is nobody's business outside. */
export type DeliveryStatus = Exclude<DeliveryState['kind'], 'sending'>
export const deliveryStatusOf = (state: DeliveryState): DeliveryStatus =>
  state.kind === 'sending' ? 'pending' : state.kind

/** One HTTP request for a delivery; `attemptNumber` counts from 1. */
export type DeliveryAttempt = {
  readonly attemptNumber: number
  readonly startedAt: Instant
  readonly durationMs: number
  /**
   * As they were signed and sent, but for those of the connection; the customer's own without their values. Absent when nothing was sent,
   * or it is not known.
   */
  readonly requestHeaders?: Readonly<Record<string, string>>
  readonly outcome: Outcome
}

/** `accepted` is a 2xx and nothing else (S§6 receiver requirement 4). `responseBody` is the first 16 KiB of the answer. */
export type Outcome =
  | { readonly kind: 'accepted'; readonly statusCode: number; readonly responseBody: string }
  | {
      readonly kind: 'refused'
      readonly statusCode: number
      readonly responseBody: string
      readonly retryAfterMs?: number
    }
  | { readonly kind: 'unreachable'; readonly error: UnreachableError; readonly detail: string }

export type UnreachableError =
  | 'dns'
  | 'address_blocked'
  | 'connect'
  | 'tls'
  | 'reset'
  | 'timeout'
  | 'protocol'
  /** The secret, or a header of the customer's own, could not be decrypted: nothing was sent, for an unsigned request never is. */
  | 'unsealable_secret'
  /** Something of ours ended while it was sending: what the receiver made of it is not known. */
  | 'interrupted'

/** `delaysMs[step]` follows the failure at that step; none left means exhausted. Jitter lengthens only. */
export type RetryPolicy = {
  readonly delaysMs: readonly number[]
  readonly jitter: number
  readonly maxRetryAfterMs: number
}

const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE

export const defaultRetryPolicy: RetryPolicy = {
  delaysMs: [
    5 * SECOND,
    5 * MINUTE,
    30 * MINUTE,
    2 * HOUR,
    5 * HOUR,
    10 * HOUR,
    14 * HOUR,
    20 * HOUR,
    24 * HOUR,
  ],
  jitter: 0.2,
  maxRetryAfterMs: 24 * HOUR,
}

/** By us: it says nothing of the receiver. */
export const isInterrupted = (outcome: Outcome): boolean =>
  outcome.kind === 'unreachable' && outcome.error === 'interrupted'

/**
 * delay = max(delaysMs[step] × (1 + jitter × random), min(retryAfter, cap)): `Retry-After` only ever lengthens. What we
 * interrupted ourselves goes through the schedule once more before that ends a delivery: the receiver may never have had its last attempt.
 */
export function decideNextState(
  delivery: SendingDelivery,
  outcome: Outcome,
  policy: RetryPolicy,
  now: Instant,
  random: number,
): AfterAttempt {
  if (outcome.kind === 'accepted') return { kind: 'delivered', deliveredAt: now }
  const { step, resumeAt } = delivery.state
  const retryAfter = Math.min(
    outcome.kind === 'refused' ? (outcome.retryAfterMs ?? 0) : 0,
    policy.maxRetryAfterMs,
  )
  // A failed extra attempt costs no step of the schedule, so it can never cancel what was still to come.
  if (resumeAt !== undefined)
    return { kind: 'pending', nextAttemptAt: Math.max(resumeAt, now + retryAfter), step }
  const scheduled =
    policy.delaysMs[step] ??
    (isInterrupted(outcome) ? policy.delaysMs[step - policy.delaysMs.length] : undefined)
  if (scheduled === undefined) return { kind: 'exhausted', exhaustedAt: now }
  const delay = Math.max(scheduled * (1 + policy.jitter * random), retryAfter)
  return { kind: 'pending', nextAttemptAt: now + Math.round(delay), step: step + 1 }
}

/**
 * What becomes of a delivery that an operator wants sent again now: one extra attempt of an open one, a fresh schedule for
 * a final one. Undefined when there is nothing to do: it is being sent, or due already, by the end of its lease too.
 */
export function decideRedelivery(
  state: DeliveryState,
  now: Instant,
): Extract<DeliveryState, { kind: 'pending' }> | undefined {
  if (state.kind === 'sending') return undefined
  if (state.kind !== 'pending') return { kind: 'pending', nextAttemptAt: now, step: 0 }
  if (state.nextAttemptAt <= now) return undefined
  return { kind: 'pending', nextAttemptAt: now, step: state.step, resumeAt: state.nextAttemptAt }
}
