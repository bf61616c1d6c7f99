import { defaultPolicy, type Policy } from '@org/agent-messaging-core'

const SECOND = 1_000

/** Short times and low limits, so that a simulated minute reaches all of them. */
export const POLICY: Policy = {
  ...defaultPolicy,
  syncWaitMs: 10 * SECOND,
  pollMs: 2 * SECOND,
  runLeaseMs: 6 * SECOND,
  dispatch: {
    backoffMs: [500, 2 * SECOND],
    jitter: 0.2,
    runTimeoutMs: 8 * SECOND,
    deferredTimeoutMs: 15 * SECOND,
  },
  agentHealth: {
    intervalMs: 10 * SECOND,
    recheckMs: SECOND,
    timeoutMs: 2 * SECOND,
    failuresBeforeError: 3,
  },
  retry: {
    delaysMs: [SECOND, 4 * SECOND, 12 * SECOND],
    jitter: 0.2,
    maxRetryAfterMs: 30 * SECOND,
  },
  webhookHealth: {
    openFailures: 4,
    openAfterMs: SECOND,
    openMs: 2 * SECOND,
    longestOpenMs: 8 * SECOND,
    jitter: 0.2,
    maxRetryAfterMs: 30 * SECOND,
    disableAfterMs: 20 * SECOND,
    disableFailures: 6,
  },
  deliver: {
    deadlineMs: 3 * SECOND,
    leaseMs: 6 * SECOND,
    maxInFlight: 8,
    prefetch: 12,
  },
}

/** Limit of queued messages in a session. */
export const MAX_QUEUED = 4
