import { okAsync } from 'neverthrow'
import { decideNextState } from '../domain/delivery.js'
import { traceIdOf } from '../domain/trace.js'
import type {
  AttemptRecord,
  ClaimedDelivery,
  DeliveryDetail,
  RecordedAttempt,
} from '../ports/delivery-store.js'
import type { Stored } from '../ports/stored.js'
import type { Platform } from '../platform.js'
import { retryUntilStored } from '../pacing/retry-until-stored.js'
import { judgeOf, tellOf, type Judged } from './health-decision.js'

/** An attempt that was made, and what is to be kept of it. */
export type Made = { readonly claimed: ClaimedDelivery; readonly record: AttemptRecord }

/** Has it made, and decides. `failing`: ids of webhooks that may be worse than as they were claimed. Never rejects. */
export async function makeAttempt(
  d: Platform,
  claimed: ClaimedDelivery,
  failing: ReadonlySet<string>,
): Promise<Made> {
  const { delivery, lease, webhook } = claimed
  const { startedAt, endedAt, requestHeaders, outcome } = await d.attempts.make(claimed)
  const durationMs = Math.max(0, endedAt - startedAt)
  const state = decideNextState(delivery, outcome, d.policy.retry, endedAt, d.random.next())
  const attempt = { startedAt, durationMs, ...(requestHeaders && { requestHeaders }), outcome }
  const decideHealth = judgeOf(d, webhook, outcome, endedAt, failing.has(webhook.id))
  return {
    claimed,
    record: {
      deliveryId: delivery.id,
      token: lease.token,
      attempt,
      state,
      ...(decideHealth && { decideHealth, webhookId: webhook.id }),
    },
  }
}

/**
 * Records it, however long the store is away, but for the end of the service. Gives what it made of the webhook, if anything.
 * Never rejects.
 */
export async function recordAttempt(d: Platform, made: Made): Promise<Judged | undefined> {
  const recorded = await retryUntilStored(d, recording(d, made))
  if (recorded.isErr()) return undefined
  d.telemetry.record({
    name: recorded.value.kind === 'recorded' ? 'delivery.attempted' : 'delivery.refused',
    ...factsOf(made),
  })
  const judged = recorded.value.kind === 'recorded' ? recorded.value.webhook : undefined
  if (judged) tellOf(d, judged)
  return judged
}

/**
 * Again only after a look whether the answer alone was lost: a success counts whatever came since, and would count twice once somebody has
 * asked for the delivery to be made anew.
 */
function recording(
  { storage: { deliveries } }: Platform,
  { claimed: { delivery }, record }: Made,
): () => Stored<RecordedAttempt> {
  let isRepeat = false
  return () => {
    if (isRepeat)
      return deliveries
        .get(delivery.projectId, delivery.id)
        .andThen((found) =>
          isOnRecord(found, record)
            ? okAsync({ kind: 'recorded' } as const)
            : deliveries.recordAttempt(record),
        )
    isRepeat = true
    return deliveries.recordAttempt(record)
  }
}

const isOnRecord = (
  found: DeliveryDetail | undefined,
  { attempt: { startedAt, durationMs, outcome } }: AttemptRecord,
): boolean =>
  found?.attempts.some(
    (one) =>
      one.startedAt === startedAt &&
      one.durationMs === durationMs &&
      one.outcome.kind === outcome.kind,
  ) ?? false

function factsOf({ claimed: { delivery, webhook, trace }, record: { attempt, state } }: Made) {
  const { durationMs, outcome } = attempt
  return {
    deliveryId: delivery.id,
    eventId: delivery.eventId,
    webhookId: webhook.id,
    projectId: delivery.projectId,
    event: delivery.event,
    attemptNumber: delivery.attemptCount + 1,
    durationMs,
    outcome: outcome.kind,
    ...('statusCode' in outcome
      ? { statusCode: outcome.statusCode }
      : { error: outcome.error, detail: outcome.detail }),
    state: state.kind,
    ...(state.kind === 'pending' && { nextAttemptAt: state.nextAttemptAt }),
    ...(trace && { traceId: traceIdOf(trace) }),
  }
}
