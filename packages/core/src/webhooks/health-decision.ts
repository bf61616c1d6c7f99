import type { Outcome } from '../domain/delivery.js'
import { freezeEvent } from '../domain/event.js'
import { toIso, type Instant } from '../domain/instant.js'
import type { Webhook } from '../domain/webhook.js'
import { decideWebhookHealth, type HealthDecision } from '../domain/webhook-health.js'
import type { AttemptRecord, RecordedAttempt, WebhookUpdate } from '../ports/delivery-store.js'
import type { Platform } from '../platform.js'

/**
 * How the store is to decideHealth the webhook in the commit of this attempt. Undefined, which spares the store a look, when the
 * webhook as it was claimed gives no reason to: what has changed since is seen by the next attempt. `isFailing`: it is known to have
 * failed since, and a success that was not written down would not come between two failures.
 */
export function judgeOf(
  d: Pick<Platform, 'policy' | 'random' | 'ids'>,
  claimed: Webhook,
  outcome: Outcome,
  now: Instant,
  isFailing: boolean,
): AttemptRecord['decideHealth'] {
  const attempt = { outcome, isProbe: claimed.health.circuit.kind === 'open' }
  const random = d.random.next()
  const decide = (webhook: Webhook) =>
    decideWebhookHealth(webhook, attempt, d.policy.webhookHealth, now, random)
  if (!isFailing && !decide(claimed)) return undefined
  return (webhook) => {
    const decision = decide(webhook)
    return decision && verdictOf(d, webhook, decision, now)
  }
}

function verdictOf(
  d: Pick<Platform, 'ids'>,
  webhook: Webhook,
  { health, disable }: HealthDecision,
  now: Instant,
): WebhookUpdate {
  if (!disable) return { change: { health, updatedAt: webhook.updatedAt } }
  const data = {
    webhookId: webhook.id,
    reason: disable,
    disabledAt: toIso(now),
    consecutiveFailures: health.consecutiveFailures,
    failingSince: toIso(health.failingSince ?? now),
  }
  const event = freezeEvent(
    { event: 'webhook.disabled', data },
    d.ids.next(),
    webhook.projectId,
    now,
  )
  return {
    change: { health, status: { kind: 'disabled', reason: disable, at: now }, updatedAt: now },
    outgoing: { event, nextDeliveryId: () => d.ids.next(), notTo: webhook.id },
  }
}

/** A webhook before and after an attempt. */
export type Judged = NonNullable<Extract<RecordedAttempt, { kind: 'recorded' }>['webhook']>

/** Tells of a circuit that opened, again or for the first time, or closed, and of a webhook that was disabled. */
export function tellOf(d: Pick<Platform, 'telemetry'>, { before, after }: Judged): void {
  const { id: webhookId, projectId, health, status } = after
  const { circuit, consecutiveFailures } = health
  const had = before.health.circuit
  const facts = { webhookId, projectId, consecutiveFailures }
  if (circuit.kind === 'open' && (had.kind === 'closed' || had.trips < circuit.trips)) {
    d.telemetry.record({
      name: 'webhook.circuit',
      ...facts,
      circuit: 'open',
      probeAt: circuit.until,
    })
  }
  if (circuit.kind === 'closed' && had.kind === 'open')
    d.telemetry.record({ name: 'webhook.circuit', ...facts, circuit: 'closed' })
  if (status.kind === 'disabled' && before.status.kind === 'enabled') {
    d.telemetry.record({ name: 'webhook.disabled', ...facts, reason: status.reason })
  }
}
