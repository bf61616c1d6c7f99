import { decideNextState, shownUrl, type Outcome } from '../domain/webhooks/delivery.js'
import { freezeEvent, type EventPayload } from '../domain/webhooks/event.js'
import { exhaustedEvent, lastAttemptOf, reportsFailure } from '../domain/messages/exhausted.js'
import { toIso, type Instant } from '../domain/values/instant.js'
import { isHook, isTaskHook } from '../domain/messages/message-hook.js'
import { taskBody } from '../domain/messages/task-body.js'
import { traceIdOf } from '../domain/messages/trace.js'
import { countsOfAttempt } from '../domain/operations/counts.js'
import { receiverIdOf, type Webhook } from '../domain/webhooks/webhook.js'
import {
  decideWebhookHealth,
  type HealthDecision,
  type WebhookAttempt,
} from '../domain/webhooks/webhook-health.js'
import { retryUntilStored } from '../pacing/retry-until-stored.js'
import { tracedCommit } from '../pacing/traced-commit.js'
import type { Platform } from '../platform.js'
import type {
  AttemptRecord,
  ClaimedDelivery,
  DeliveryDetail,
  Outgoing,
  RecordedAttempt,
  WebhookUpdate,
} from '../ports/delivery-store.js'
import { success } from '../ports/port-result.js'
import type { Stored } from '../ports/stored.js'
import type { ActiveSpan } from '../ports/tracing.js'
import type { AttemptRecords } from './attempt-records.js'
import type { RecentAttempts } from './recent-attempts.js'

/** An attempt whose request has ended, with the record to store. */
export type FinishedAttempt = {
  readonly claimed: ClaimedDelivery
  readonly record: AttemptRecord
  /** Still open. `recordAttempt` ends it. */
  readonly span: ActiveSpan
}

/** A webhook before and after an attempt changed it. */
export type WebhookTransition = NonNullable<
  Extract<RecordedAttempt, { kind: 'recorded' }>['webhook']
>

/** `nextIsDue`: the next delivery of the session is due. */
export type Recorded = { readonly webhook?: WebhookTransition; readonly nextIsDue?: true }

/** Makes one attempt and decides the delivery's next state. Never rejects. */
export async function makeAttempt(
  platform: Platform,
  given: ClaimedDelivery,
  recent: RecentAttempts,
  canWait: boolean,
): Promise<FinishedAttempt> {
  const { attempts, clock, policy, random } = platform
  const claimed = isTaskHook(given.webhook) ? { ...given, body: taskBody(given.body) } : given
  const { delivery, lease, webhook } = claimed
  const span = startAttempt(platform, claimed)
  const order = span.trace ? { ...claimed, trace: span.trace } : claimed
  const { startedAt, endedAt, requestHeaders, outcome } = await attempts.make(order, canWait)
  const durationMs = Math.max(0, endedAt - startedAt)
  // A thread that makes attempts can already have seen a jump of the clock.
  const now = clock.now()
  const delaysMs = webhook.sending?.retrySchedule
  const retry = delaysMs ? { ...policy.retry, delaysMs } : policy.retry
  const state = decideNextState(delivery, outcome, retry, now, random.next())
  const isSent = outcome.kind !== 'unreachable' || outcome.error !== 'unsealable_secret'
  const attempt = {
    startedAt,
    durationMs,
    ...(isSent && { url: shownUrl(webhook.url) }),
    ...(requestHeaders && { requestHeaders }),
    outcome,
  }
  const decideHealth = healthDecider(platform, claimed, outcome, now, recent)
  const outgoing =
    state.kind === 'exhausted' ? exhaustedOutgoing(platform, claimed, outcome, now) : undefined
  const counts = countsOfAttempt({
    projectId: delivery.projectId,
    webhookId: isHook(webhook) ? '' : webhook.id,
    body: claimed.body,
    outcome,
    startedAt,
    now,
    state: state.kind,
  })
  return {
    claimed,
    span,
    record: {
      deliveryId: delivery.id,
      token: lease.token,
      attempt,
      state,
      receiverId: receiverIdOf(webhook),
      decideHealth,
      outgoing,
      ...counts,
    },
  }
}

const startAttempt = (
  { tracing }: Platform,
  { delivery, webhook, trace }: ClaimedDelivery,
): ActiveSpan =>
  tracing.start({
    name: 'delivery.attempt',
    parent: trace,
    details: {
      projectId: delivery.projectId,
      deliveryId: delivery.id,
      eventId: delivery.eventId,
      event: delivery.event,
      webhookId: webhook.id,
      attempt: delivery.attemptCount + 1,
    },
  })

/** Ends the span of an attempt, stored or not. */
export function endAttempt({ span, record: { attempt, state } }: FinishedAttempt): void {
  const { outcome } = attempt
  span.end({
    outcome: outcome.kind,
    state: state.kind,
    ...('statusCode' in outcome && { statusCode: outcome.statusCode }),
    ...(outcome.kind === 'refused' && { error: String(outcome.statusCode) }),
    ...(outcome.kind === 'unreachable' && { error: outcome.error }),
  })
}

/**
 * Stores the attempt, and retries while the storage is unavailable. Returns the webhook's transition, if the attempt caused one, and whether the next delivery
 * of its session is due. Never rejects.
 */
export async function recordAttempt(
  platform: Platform,
  finished: FinishedAttempt,
  records: AttemptRecords,
  isAwaited: boolean,
): Promise<Recorded> {
  const { telemetry } = platform
  const { span } = finished
  const recorded = await tracedCommit(platform.tracing, span, 'recordAttempts', () =>
    retryUntilStored(platform, recording(platform, finished, records, isAwaited)),
  )
  endAttempt(finished)
  if (!recorded.ok) return {}
  if (recorded.value.kind !== 'recorded') {
    telemetry.record({ name: 'delivery.refused', ...factsOf(finished) })
    return {}
  }
  telemetry.record({ name: 'delivery.attempted', ...factsOf(finished) })
  const { webhook } = recorded.value
  if (webhook) reportTransition(platform, webhook)
  if (finished.record.outgoing) platform.eventNews.committed(finished.claimed.delivery.projectId)
  return recorded.value
}

/**
 * The write of the attempt. A repeat is alone, because an attempt that cannot be stored makes its list
 * fail. It first checks whether an earlier try was stored: an accepted
 * attempt is recorded after any other change, so it would count twice after a redelivery.
 */
function recording(
  { storage: { deliveries } }: Platform,
  { claimed: { delivery }, record }: FinishedAttempt,
  records: AttemptRecords,
  isAwaited: boolean,
): () => Stored<RecordedAttempt> {
  async function repeat(): Stored<RecordedAttempt> {
    const found = await deliveries.get(delivery.projectId, delivery.id)
    if (!found.ok) return found
    return isStored(found.value, record) ? success({ kind: 'recorded' }) : records.store(record)
  }
  let isRepeat = false
  return () => {
    if (isRepeat) return repeat()
    isRepeat = true
    return isAwaited ? records.store(record) : records.collect(record)
  }
}

const isStored = (
  found: DeliveryDetail | undefined,
  { attempt: { startedAt, durationMs, outcome } }: AttemptRecord,
): boolean =>
  found?.attempts.some(
    (one) =>
      one.startedAt === startedAt &&
      one.durationMs === durationMs &&
      one.outcome.kind === outcome.kind,
  ) ?? false

/**
 * The health decision that the store makes in the commit of the attempt. Returns undefined, which
 * saves the store a read, if neither the webhook as claimed nor the recent attempts of this process
 * give a reason for a change.
 */
function healthDecider(
  platform: Platform,
  { delivery, webhook: claimed }: ClaimedDelivery,
  outcome: Outcome,
  now: Instant,
  recent: RecentAttempts,
): AttemptRecord['decideHealth'] {
  const { clock, policy, random } = platform
  const { circuit } = claimed.health
  const isGone = outcome.kind === 'refused' && outcome.statusCode === 410
  const mustReport = circuit.kind === 'open' || isGone
  const elapsed = clock.elapsed()
  const { isNews, failingSince: since, ...report } = recent.note(outcome, elapsed, mustReport)
  const failingSince = now - Math.round(elapsed - since)
  const attempt = {
    failingSince,
    ...report,
    isReport: reportsFailure(delivery.event),
    ...(circuit.kind === 'open' && { probeUntil: circuit.until }),
  }
  const jitter = random.next()
  const decide = (webhook: Webhook): HealthDecision | undefined =>
    decideWebhookHealth(webhook, attempt, policy.webhookHealth, now, jitter)
  const isAccepted = outcome.kind === 'accepted'
  const isChange = isAccepted && decide(recent.withKeptSuccess(claimed)) !== undefined
  if (!isNews && !isChange) return undefined
  if (isAccepted) recent.keepSuccess(now)
  return (webhook) => {
    const decision = decide(webhook)
    return decision && updateOf(platform, webhook, decision, attempt, now)
  }
}

function updateOf(
  platform: Platform,
  webhook: Webhook,
  decision: HealthDecision,
  attempt: WebhookAttempt,
  now: Instant,
): WebhookUpdate {
  const { health, disable } = decision
  const change = disable
    ? { health, status: { kind: 'disabled', reason: disable, at: now } as const, updatedAt: now }
    : { health, updatedAt: webhook.updatedAt }
  const payloads = eventsOf(webhook, decision, attempt, now)
  return payloads.length === 0
    ? { change }
    : { change, outgoing: toOthers(platform, webhook, payloads, now) }
}

/** The events of a decision. A failed report makes none. */
function eventsOf(
  { id: webhookId, health: before }: Webhook,
  { health, report, disable }: HealthDecision,
  { outcome, isReport }: WebhookAttempt,
  now: Instant,
): EventPayload[] {
  const { consecutiveFailures, circuit } = health
  const failingSince = toIso(health.failingSince ?? before.reportedFailingSince ?? now)
  const payloads: EventPayload[] = []
  if (report === 'failing' && circuit.kind === 'open')
    payloads.push({
      event: 'webhook.failing',
      data: {
        webhookId,
        consecutiveFailures,
        failingSince,
        circuitOpenUntil: toIso(circuit.until),
        lastAttempt: lastAttemptOf(outcome),
      },
    })
  if (report === 'recovered')
    payloads.push({
      event: 'webhook.recovered',
      data: { webhookId, failingSince, recoveredAt: toIso(now) },
    })
  if (disable && !isReport)
    payloads.push({
      event: 'webhook.disabled',
      data: {
        webhookId,
        reason: disable,
        disabledAt: toIso(now),
        consecutiveFailures,
        failingSince,
      },
    })
  return payloads
}

function exhaustedOutgoing(
  platform: Platform,
  { delivery, webhook }: ClaimedDelivery,
  outcome: Outcome,
  now: Instant,
): AttemptRecord['outgoing'] {
  const payload = exhaustedEvent(delivery, outcome, now)
  return payload && toOthers(platform, webhook, [payload], now)
}

/** Events for the project's other webhooks. */
const toOthers = (
  { ids, publicUrl }: Platform,
  { id, projectId }: Webhook,
  payloads: readonly EventPayload[],
  now: Instant,
): Omit<Outgoing, 'claim'> => ({
  events: payloads.map((payload) =>
    freezeEvent(payload, ids.next(), projectId, now, publicUrl?.()),
  ),
  nextDeliveryId: () => ids.next(),
  notTo: id,
})

/** True if the transition can have events. */
export const isEventful = ({ before, after }: WebhookTransition): boolean =>
  before.status.kind !== after.status.kind ||
  before.health.reportedFailingSince !== after.health.reportedFailingSince

/** Reports a circuit that opened or closed, and a webhook that was disabled. */
function reportTransition({ eventNews, telemetry }: Platform, transition: WebhookTransition): void {
  const { before, after } = transition
  const { id: webhookId, projectId, health, status } = after
  const { circuit, consecutiveFailures } = health
  const earlier = before.health.circuit
  const facts = { webhookId, projectId, consecutiveFailures }
  if (circuit.kind === 'open' && (earlier.kind === 'closed' || earlier.trips < circuit.trips)) {
    const probeAt = circuit.until
    telemetry.record({ name: 'webhook.circuit', ...facts, circuit: 'open', probeAt })
  }
  if (circuit.kind === 'closed' && earlier.kind === 'open')
    telemetry.record({ name: 'webhook.circuit', ...facts, circuit: 'closed' })
  if (status.kind === 'disabled' && before.status.kind === 'enabled')
    telemetry.record({ name: 'webhook.disabled', ...facts, reason: status.reason })
  if (isEventful(transition)) eventNews.committed(projectId)
}

function factsOf({
  claimed: { delivery, webhook, trace },
  record: { attempt, state },
}: FinishedAttempt) {
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
