import type { Instant } from '../values/instant.js'
import type { UnreachableError } from '../values/unreachable-error.js'

/** One event for one webhook. */
export type WebhookDelivery = {
  readonly id: string
  readonly projectId: string
  readonly webhookId: string
  readonly eventId: string
  readonly event: string
  readonly attemptCount: number
  readonly state: DeliveryState
  /** Set if the delivery keeps the order of its session. */
  readonly orderKey?: string
  readonly createdAt: Instant
}

/**
 * `step` is the position in the retry schedule, which differs from the attempt number. `sending`
 * is claimed: `pending` on the wire, and due again at `leaseUntil` if its process died. `resumeAt`
 * means that the next attempt is an operator's extra one. If it fails, the schedule continues
 * then. `waiting` is `pending` on the wire: the delivery `blockedBy` comes first in the order.
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
  | { readonly kind: 'waiting'; readonly blockedBy: string }
  | { readonly kind: 'delivered'; readonly deliveredAt: Instant }
  | { readonly kind: 'exhausted'; readonly exhaustedAt: Instant }
  | { readonly kind: 'cancelled'; readonly cancelledAt: Instant; readonly reason: CancelReason }

/**
 * The webhook was deleted, or was disabled for too long or with too many due deliveries, or an
 * operator cancelled the delivery or skipped it.
 */
export type CancelReason = 'webhook_deleted' | 'webhook_disabled' | OperatorReason
export type OperatorReason = 'operator' | 'skipped'

export type AfterAttempt = Extract<DeliveryState, { kind: 'pending' | 'delivered' | 'exhausted' }>
export type SendingDelivery = WebhookDelivery & {
  readonly state: Extract<DeliveryState, { kind: 'sending' }>
}

export const DELIVERY_STATUSES = [
  'pending',
  'delivered',
  'exhausted',
  'cancelled',
] as const satisfies readonly DeliveryStatus[]

/** `sending` and `waiting` are `pending` on the wire: a claim is internal. */
export type DeliveryStatus = Exclude<DeliveryState['kind'], 'sending' | 'waiting'>
export const deliveryStatusOf = (state: DeliveryState): DeliveryStatus =>
  state.kind === 'sending' || state.kind === 'waiting' ? 'pending' : state.kind

/** `failed`: exhausted, or attempted without success since its schedule began. */
export type DeliveryFilterStatus = DeliveryStatus | 'failed'

export function hasStatus(state: DeliveryState, status: DeliveryFilterStatus): boolean {
  if (status !== 'failed') return deliveryStatusOf(state) === status
  return state.kind === 'exhausted' || ('step' in state && state.step > 0)
}

/** One HTTP request for a delivery. `attemptNumber` counts from 1. */
export type DeliveryAttempt = {
  readonly attemptNumber: number
  readonly startedAt: Instant
  readonly durationMs: number
  /** As `shownUrl` gives it. Absent if nothing was sent. */
  readonly url?: string
  /**
   * The headers as signed and sent, without connection headers and without the customer's values.
   * Absent if nothing was sent or the headers are unknown.
   */
  readonly requestHeaders?: Readonly<Record<string, string>>
  readonly outcome: Outcome
}

/**
 * `accepted` is a 2xx and nothing else, because any other answer can mean a lost event.
 * `responseBody` is the first 16 KiB of the answer.
 */
export type Outcome =
  | { readonly kind: 'accepted'; readonly statusCode: number; readonly responseBody: string }
  | {
      readonly kind: 'refused'
      readonly statusCode: number
      readonly responseBody: string
      readonly retryAfterMs?: number
    }
  | { readonly kind: 'unreachable'; readonly error: UnreachableError; readonly detail: string }

/**
 * The newest attempt of a webhook that was not accepted, also if a later one was. Its answer is cut.
 */
export type LastFailure = Pick<DeliveryAttempt, 'attemptNumber' | 'startedAt' | 'outcome'> & {
  readonly webhookId: string
  readonly deliveryId: string
}

const SHOWN = 200

/** Cuts the answer to its first 200 characters, each of up to two UTF-16 units. */
export function cutAnswer(outcome: Outcome): Outcome {
  if (outcome.kind === 'unreachable') return outcome
  return { ...outcome, responseBody: cutText(outcome.responseBody) }
}

export const cutText = (text: string): string =>
  Array.from(text.slice(0, 2 * SHOWN))
    .slice(0, SHOWN)
    .join('')

/**
 * `delaysMs[step]` follows the failure at that step. Without a delay the delivery is exhausted.
 * Jitter only lengthens.
 */
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

/** Returns a webhook's URL without its userinfo, query and fragment, which can contain secrets. */
export function shownUrl(url: string): string {
  const { protocol, host, pathname } = new URL(url)
  return host === '' ? `${protocol}${pathname}` : `${protocol}//${host}${pathname}`
}

/** True if the service interrupted the attempt. The outcome says nothing about the receiver. */
export const isInterrupted = (outcome: Outcome): boolean =>
  outcome.kind === 'unreachable' && outcome.error === 'interrupted'

/**
 * Decides the next state after an attempt. The delay is max(delaysMs[step] × (1 + jitter ×
 * random), min(retryAfter, cap)): `Retry-After` only lengthens. Attempts that the service
 * interrupted go through the schedule once more before they exhaust the delivery, because the
 * receiver can have missed the last one.
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
  // A failed extra attempt costs no step of the schedule.
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
 * Decides the state of a delivery that an operator redelivers: one extra attempt for a pending one,
 * a new schedule for a final one. Returns undefined if it is being sent or is due already. A
 * waiting delivery gets a new schedule if the operator named it, and otherwise keeps waiting.
 */
export function decideRedelivery(
  state: DeliveryState,
  now: Instant,
  isNamed: boolean,
): Extract<DeliveryState, { kind: 'pending' }> | undefined {
  if (state.kind === 'sending' || (state.kind === 'waiting' && !isNamed)) return undefined
  if (state.kind !== 'pending') return { kind: 'pending', nextAttemptAt: now, step: 0 }
  if (state.nextAttemptAt <= now) return undefined
  return { kind: 'pending', nextAttemptAt: now, step: state.step, resumeAt: state.nextAttemptAt }
}

/**
 * True if a redelivered delivery keeps its order key. A final or waiting one is sent out of order:
 * the delivery waits for no other one, and no other one waits for the delivery.
 */
export const keepsOrder = ({ kind }: DeliveryState): boolean => kind === 'pending'
