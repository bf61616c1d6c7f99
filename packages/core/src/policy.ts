import { defaultRetryPolicy, type RetryPolicy } from './domain/delivery.js'
import { defaultLimits, type Limits } from './domain/limits.js'
import { defaultDispatchPolicy, type DispatchPolicy } from './domain/message.js'
import { defaultWebhookHealthPolicy, type WebhookHealthPolicy } from './domain/webhook-health.js'

/** Numbers and choices of the operator. */
export type Policy = {
  readonly limits: Limits
  /** How long a send waits for its answer when the caller does not say (S§8). */
  readonly syncWaitMs: number
  /** The fallback poll of waiting callers (S§8), and of the workers. */
  readonly pollMs: number
  /** Callers of one project that wait at once; one more is answered without waiting. */
  readonly maxWaitingPerProject: number
  /** A key reused with another request: `reuse` its message (S§4.1 rule 4) or `reject`. */
  readonly onKeyMismatch: 'reuse' | 'reject'
  readonly stream: StreamPolicy
  readonly dispatch: DispatchPolicy
  readonly runLeaseMs: number
  readonly agentHealth: AgentHealthPolicy
  readonly retry: RetryPolicy
  readonly webhookHealth: WebhookHealthPolicy
  readonly deliver: DeliverPolicy
  readonly retention: RetentionPolicy
  readonly disabledBacklog: DisabledBacklogPolicy
  /** Of the three headers of S§6. */
  readonly headerPrefix: string
}

/** What the request of an attempt goes by. */
export type AttemptPolicy = Pick<Policy, 'headerPrefix'> & {
  readonly deliver: Pick<DeliverPolicy, 'deadlineMs'>
}

export type StreamPolicy = {
  /** Of what a run emits, the last so many UTF-16 units are kept for those who come late, and at times twice as many. */
  readonly bufferLength: number
  /** Streams of one project at once; one more is refused. */
  readonly maxPerProject: number
  /** A stream on which nothing happens says so this often. */
  readonly heartbeatMs: number
  /** A stream ends when its reader has not taken the last event for so long. */
  readonly stalledMs: number
}

/** How agents are asked whether they are well. */
export type AgentHealthPolicy = {
  /** This often while they are, and soon again when one was not. */
  readonly intervalMs: number
  readonly recheckMs: number
  /** One that has not said by then is not well. */
  readonly timeoutMs: number
  /** One that was not well so many times in a row is in error. */
  readonly failuresBeforeError: number
}

/** How long what is final is kept: deliveries with their attempts, and messages. `Infinity`: for ever. */
export type RetentionPolicy = { readonly deliveriesMs: number; readonly messagesMs: number }

/** What may wait for a disabled webhook: `max` due deliveries, each for `maxAgeMs` from when it was due. */
export type DisabledBacklogPolicy = { readonly max: number; readonly maxAgeMs: number }

export type DeliverPolicy = {
  /** One total deadline of an attempt: DNS, connect and body. */
  readonly deadlineMs: number
  /** Longer than the deadline; what a dead process was sending is due again after it. */
  readonly leaseMs: number
  /** Requests at a time. Retries have three quarters of them at most; a project three times as many as it leaves free. */
  readonly maxInFlight: number
  readonly maxInFlightPerWebhook: number
  /** Deliveries claimed ahead of their turn; the same shares hold. */
  readonly prefetch: number
}

const DAY_MS = 86_400_000

export const defaultPolicy: Policy = {
  limits: defaultLimits,
  syncWaitMs: 30_000,
  pollMs: 500,
  maxWaitingPerProject: 5_000,
  onKeyMismatch: 'reuse',
  stream: { bufferLength: 64 * 1024, maxPerProject: 1_000, heartbeatMs: 15_000, stalledMs: 60_000 },
  dispatch: defaultDispatchPolicy,
  runLeaseMs: 30_000,
  agentHealth: { intervalMs: 30_000, recheckMs: 2_000, timeoutMs: 5_000, failuresBeforeError: 3 },
  retry: defaultRetryPolicy,
  webhookHealth: defaultWebhookHealthPolicy,
  deliver: {
    deadlineMs: 15_000,
    leaseMs: 30_000,
    maxInFlight: 64,
    maxInFlightPerWebhook: 8,
    prefetch: 512,
  },
  retention: { deliveriesMs: 30 * DAY_MS, messagesMs: Infinity },
  disabledBacklog: { max: 10_000, maxAgeMs: 7 * DAY_MS },
  headerPrefix: 'X-Service',
}

/** An attempt is begun only if its lease covers the whole of it. */
export function requireFittingLease({ deliver: { leaseMs, deadlineMs } }: Policy): void {
  if (leaseMs <= deadlineMs)
    throw new RangeError(
      `policy.deliver.leaseMs is ${leaseMs}; it takes more than deadlineMs, which is ${deadlineMs}`,
    )
}
