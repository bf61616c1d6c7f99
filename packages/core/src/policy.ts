import { defaultRetryPolicy, type RetryPolicy } from './domain/webhooks/delivery.js'
import { defaultLimits, type Limits } from './domain/values/limits.js'
import { defaultDispatchPolicy, type DispatchPolicy } from './domain/messages/message.js'
import { didYouMean } from './domain/values/nearest-name.js'
import type { SendLimits } from './domain/access/send-limit.js'
import {
  defaultWebhookHealthPolicy,
  type WebhookHealthPolicy,
} from './domain/webhooks/webhook-health.js'

/** The operator's numbers and choices. */
export type Policy = {
  readonly limits: Limits
  /** How long a send waits for its answer if the caller does not say. */
  readonly syncWaitMs: number
  /** The interval of polls: for waiting callers and for the workers. */
  readonly pollMs: number
  /** The most waiting callers of one project. Another caller is answered without a wait. */
  readonly maxWaitingPerProject: number
  /**
   * A key that is used with another request of its session returns its message (`reuse`)
   * or an error (`reject`). In another session the key always returns the error.
   */
  readonly onKeyMismatch: 'reuse' | 'reject'
  /** Refuses events to publish whose type is not in the catalogue, or whose data does not match. */
  readonly strictEventTypes: boolean
  readonly sendQueue: SendQueuePolicy
  readonly stream: StreamPolicy
  readonly dispatch: DispatchPolicy
  readonly runLeaseMs: number
  readonly agentHealth: AgentHealthPolicy
  readonly retry: RetryPolicy
  readonly webhookHealth: WebhookHealthPolicy
  readonly deliver: DeliverPolicy
  readonly retention: RetentionPolicy
  readonly disabledBacklog: DisabledBacklogPolicy
  /** Counts what projects use. Absent: off, which costs nothing. */
  readonly quotas?: QuotaPolicy | undefined
  /** The prefix of the service's own headers of a webhook request. */
  readonly headerPrefix: string
}

/** The limits of projects without own ones. Absent: no limit. */
export type QuotaPolicy = SendLimits

/** The part of the policy that an attempt needs. */
export type AttemptPolicy = Pick<Policy, 'headerPrefix'> & {
  readonly deliver: Pick<DeliverPolicy, 'deadlineMs'>
}

/** The sends of this process that wait because more arrive than the storage can commit. */
type SendQueuePolicy = {
  /** A send that waits longer is refused. */
  readonly maxWaitMs: number
  readonly maxWaiting: number
  /** The sum of the bodies of sends that wait. */
  readonly maxBytes: number
}

export type StreamPolicy = {
  /**
   * The UTF-16 units of a run's output that are kept for late readers, and up to twice as many for
   * a time.
   */
  readonly bufferLength: number
  /**
   * The UTF-16 units that are kept of all runs together in this process. A unit takes 1 or 2 bytes.
   * Beyond it, the oldest output of the longest runs goes first.
   */
  readonly totalBufferLength: number
  /** The most streams of one project. Another one is refused. */
  readonly maxPerProject: number
  /** The interval of heartbeats on a quiet stream. Many HTTP clients give up after 5 s. */
  readonly heartbeatMs: number
  /** The interval at which the API key of an open stream or of a waiting reader is checked. */
  readonly keyCheckMs: number
  /** A stream ends if its reader has not taken the last event for this long. */
  readonly stalledMs: number
}

/** When agents are asked for their health. */
export type AgentHealthPolicy = {
  /** The interval while the agent is healthy. `recheckMs` is the interval after a failure. */
  readonly intervalMs: number
  readonly recheckMs: number
  /** An agent that does not answer within this time is unhealthy. */
  readonly timeoutMs: number
  /** An agent that fails this many checks in a row goes into the state error. */
  readonly failuresBeforeError: number
}

/**
 * How long rows are kept: final deliveries with their attempts, final messages, and events. An
 * event stays longer if it has a delivery. `Infinity` keeps the rows.
 */
export type RetentionPolicy = {
  readonly deliveriesMs: number
  readonly messagesMs: number
  readonly eventsMs: number
}

/**
 * Deliveries that can wait for a disabled webhook: `max` due deliveries, each for `maxAgeMs` after
 * it was due.
 */
export type DisabledBacklogPolicy = { readonly max: number; readonly maxAgeMs: number }

export type DeliverPolicy = {
  /** The total deadline of an attempt: DNS, connecting and the body. */
  readonly deadlineMs: number
  /** Longer than the deadline. A delivery of a dead process is due again after its lease. */
  readonly leaseMs: number
  /**
   * Parallel requests. Retries get three quarters at most. A project gets at most three times as
   * many as it leaves free.
   */
  readonly maxInFlight: number
  /** The limits of webhooks without such a setting, over all processes. Absent: they adapt. */
  readonly maxConcurrency?: number | undefined
  readonly requestsPerSecond?: number | undefined
  /** Deliveries that are claimed in advance. The same shares apply. */
  readonly prefetch: number
}

const DAY_MS = 86_400_000

export const defaultPolicy: Policy = {
  limits: defaultLimits,
  syncWaitMs: 30_000,
  pollMs: 500,
  maxWaitingPerProject: 5_000,
  onKeyMismatch: 'reuse',
  strictEventTypes: false,
  sendQueue: { maxWaitMs: 2_000, maxWaiting: 5_000, maxBytes: 64 * 1024 * 1024 },
  stream: {
    bufferLength: 64 * 1024,
    totalBufferLength: 32 * 1024 * 1024,
    maxPerProject: 1_000,
    heartbeatMs: 4_000,
    keyCheckMs: 15_000,
    stalledMs: 60_000,
  },
  dispatch: defaultDispatchPolicy,
  runLeaseMs: 30_000,
  agentHealth: { intervalMs: 30_000, recheckMs: 2_000, timeoutMs: 5_000, failuresBeforeError: 3 },
  retry: defaultRetryPolicy,
  webhookHealth: defaultWebhookHealthPolicy,
  deliver: {
    deadlineMs: 15_000,
    leaseMs: 30_000,
    maxInFlight: 64,
    prefetch: 512,
  },
  retention: { deliveriesMs: 30 * DAY_MS, messagesMs: Infinity, eventsMs: 7 * DAY_MS },
  disabledBacklog: { max: 10_000, maxAgeMs: 7 * DAY_MS },
  headerPrefix: 'X-Service',
}

/** Settings without a value keep their default, also within a group of settings. */
export type PolicyInput = PartOf<Policy>
type PartOf<T> = {
  readonly [K in keyof T]?:
    | (NonNullable<T[K]> extends object
        ? NonNullable<T[K]> extends readonly unknown[]
          ? T[K]
          : PartOf<T[K]>
        : T[K])
    | undefined
}

/**
 * Returns the whole policy. Throws a `TypeError` for a setting that does not exist or has another
 * type, and a `RangeError` for a lease that can end before its attempt.
 */
export function policyOf(input: PolicyInput = {}): Policy {
  const policy = completed(defaultPolicy, shape, input, 'policy') as Policy
  const { leaseMs, deadlineMs } = policy.deliver
  if (leaseMs <= deadlineMs)
    throw new RangeError(
      `policy.deliver.leaseMs is ${leaseMs}; it takes more than deadlineMs, which is ${deadlineMs}`,
    )
  return policy
}

/**
 * The default policy, with examples of the settings that it leaves out. Has the type of each
 * setting.
 */
const shape = {
  ...defaultPolicy,
  quotas: undefined,
  deliver: { ...defaultPolicy.deliver, maxConcurrency: 0, requestsPerSecond: 0 },
}

type Group = Readonly<Record<string, unknown>>

/**
 * Returns the given settings with the defaults of the others. Checks the types for callers without
 * them, such as one that sets a number of milliseconds to `5s`.
 */
function completed(base: unknown, like: unknown, given: unknown, path: string): unknown {
  if (given === undefined) return base
  if (like === undefined) return given
  const type = typeOf(like)
  if (typeOf(given) !== type || Number.isNaN(given))
    throw new TypeError(`${path} must be ${type === 'object' ? 'an' : 'a'} ${type}`)
  if (type !== 'object') return given
  const [defaults, known] = [base as Group, like as Group]
  const settings = Object.entries(given as Group).map(([name, value]) => {
    if (Object.hasOwn(known, name))
      return [name, completed(defaults[name], known[name], value, `${path}.${name}`)]
    throw new TypeError(`${path} has no setting "${name}"${didYouMean(name, Object.keys(known))}`)
  })
  return { ...defaults, ...Object.fromEntries(settings) }
}

const typeOf = (value: unknown): string => (Array.isArray(value) ? 'list' : typeof value)
