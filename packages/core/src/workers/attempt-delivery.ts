import { decideNextState, type Outcome } from '../domain/delivery.js'
import type { Sealed } from '../domain/sealed.js'
import { signatureHeaders } from '../domain/signature.js'
import { signingSecrets, webhookSecretContext } from '../domain/webhook.js'
import type { ClaimedDelivery } from '../ports/delivery-store.js'
import type { Platform } from '../use-cases/deps.js'
import { insist } from './insist.js'
import { judgeOf, tellOf, type Judged } from './judge-webhook.js'

export type AttemptDeps = Pick<Platform, 'storage' | 'sender' | 'clock' | 'random' | 'ids' | 'crypto' | 'telemetry' | 'policy' | 'over'>

/**
 * One attempt: sign, send, decide, record. Gives what it made of the webhook, if anything. Never rejects; an outcome in hand is
 * recorded however long the store is away, but for the end of the service.
 */
export async function attemptDelivery(d: AttemptDeps, { delivery, lease, webhook, body }: ClaimedDelivery): Promise<Judged | undefined> {
  const startedAt = d.clock.now()
  const outcome = await send(d, { delivery, lease, webhook, body })
  const now = d.clock.now()
  const durationMs = Math.max(0, now - startedAt)
  const state = decideNextState(delivery, outcome, d.policy.retry, now, d.random.next())
  const attempt = { startedAt, durationMs, outcome }
  const judge = judgeOf(d, webhook, outcome, now)
  const record = { deliveryId: delivery.id, token: lease.token, attempt, state, ...(judge && { judge }) }
  const recorded = await insist(d, () => d.storage.deliveries.recordAttempt(record))
  if (recorded.isErr()) return undefined
  d.telemetry.record({
    name: recorded.value.kind === 'recorded' ? 'delivery.attempted' : 'delivery.refused',
    deliveryId: delivery.id,
    webhookId: webhook.id,
    projectId: delivery.projectId,
    event: delivery.event,
    attemptNumber: delivery.attemptCount + 1,
    durationMs,
    outcome: outcome.kind,
    ...('statusCode' in outcome ? { statusCode: outcome.statusCode } : { error: outcome.error, detail: outcome.detail }),
    state: state.kind,
    ...(state.kind === 'pending' && { nextAttemptAt: state.nextAttemptAt }),
  })
  const judged = recorded.value.kind === 'recorded' ? recorded.value.webhook : undefined
  if (judged) tellOf(d, judged)
  return judged
}

async function send(d: AttemptDeps, { delivery, webhook, body }: ClaimedDelivery): Promise<Outcome> {
  const at = d.clock.now()
  const { signing, next } = signingSecrets(webhook, at)
  const unseal = (sealed: Sealed): string | undefined => d.crypto.unseal(sealed, webhookSecretContext(webhook.id))
  const secret = unseal(signing)
  const nextSecret = next && unseal(next)
  if (secret === undefined || (next && nextSecret === undefined)) {
    return { kind: 'unreachable', error: 'unsealable_secret', detail: 'the webhook secret was sealed with another master key' }
  }
  const { headerPrefix, deliver } = d.policy
  const signed = { id: delivery.id, event: delivery.event, body, secret, nextSecret, at, headerPrefix }
  const headers = signatureHeaders(d.crypto.hmacSha256, signed)
  try {
    return await d.sender.send({ url: webhook.url, headers, body, deadlineMs: deliver.deadlineMs })
  } catch (error) {
    // The port forbids a rejection; an adapter with a bug costs an attempt, not the worker.
    return { kind: 'unreachable', error: 'protocol', detail: String(error) }
  }
}
