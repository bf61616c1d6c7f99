import { ownBody } from '../domain/webhooks/own-body.js'
import { orderKeyOf } from '../domain/webhooks/delivery-order.js'
import type { Instant } from '../domain/values/instant.js'
import type { MessageState } from '../domain/messages/message.js'
import type { WebhookEvent } from '../domain/webhooks/event.js'
import type { Webhook } from '../domain/webhooks/webhook.js'
import type { ClaimedDelivery } from '../ports/delivery-store.js'
import type { Accepted, NewMessage } from '../ports/message-store.js'

export const createdMessage = (accepted: NewMessage): Extract<Accepted, { kind: 'created' }> => ({
  kind: 'created',
  message: messageOf(accepted, 0, { kind: 'queued', notBefore: accepted.now }),
})

export const claimedMessage = (
  accepted: NewMessage,
  token: number,
  until: Instant,
  sessionState: string | null,
): Extract<Accepted, { kind: 'claimed' }> => ({
  kind: 'claimed',
  claimed: {
    message: messageOf(accepted, 1, { kind: 'running', startedAt: accepted.now }),
    lease: { token, until },
    ...(sessionState !== null && { sessionState }),
  },
})

/** One literal, because V8 gives an object made by spreading another one a large hidden class. */
const messageOf = <S extends MessageState>(accepted: NewMessage, attempt: number, state: S) => ({
  id: accepted.id,
  projectId: accepted.projectId,
  agentId: accepted.agentId,
  sessionId: accepted.sessionId,
  message: accepted.message,
  ...(accepted.inputParts && { inputParts: accepted.inputParts }),
  ...(accepted.responseSchema && { responseSchema: accepted.responseSchema }),
  ...(accepted.metadata && { metadata: accepted.metadata }),
  executionPrincipal: accepted.executionPrincipal,
  ...(accepted.fingerprint !== undefined && { fingerprint: accepted.fingerprint }),
  ...(accepted.trace && { trace: accepted.trace }),
  attempt,
  state,
  createdAt: accepted.now,
})

/** The columns of a delivery that its claim reads. */
export type ClaimedDeliveryRow = {
  readonly id: string
  readonly attemptCount: number
  readonly step: number
  readonly resumeAt: Instant | null
  readonly lease: number
  readonly orderKey: string | null
  /** Null if the delivery sends the body of its event. */
  readonly body: string | null
  readonly createdAt: Instant
}

export const claimedDelivery = (
  row: ClaimedDeliveryRow,
  event: Pick<WebhookEvent, 'id' | 'name' | 'body' | 'trace'>,
  webhook: Webhook,
  until: Instant,
): ClaimedDelivery => ({
  delivery: {
    id: row.id,
    projectId: webhook.projectId,
    webhookId: webhook.id,
    eventId: event.id,
    event: event.name,
    attemptCount: row.attemptCount,
    state: {
      kind: 'sending',
      leaseUntil: until,
      step: row.step,
      ...(row.resumeAt !== null && { resumeAt: row.resumeAt }),
    },
    ...(row.orderKey !== null && { orderKey: row.orderKey }),
    createdAt: row.createdAt,
  },
  lease: { token: row.lease, until },
  webhook,
  body: row.body ?? event.body,
  ...(event.trace && { trace: event.trace }),
})

/** A delivery of the event that is created claimed. Its first claim has token 1. */
export const newClaimedDelivery = (
  id: string,
  event: WebhookEvent,
  webhook: Webhook,
  until: Instant,
): ClaimedDelivery =>
  claimedDelivery(
    {
      id,
      attemptCount: 0,
      step: 0,
      resumeAt: null,
      lease: 1,
      orderKey: orderKeyOf(webhook, event) ?? null,
      body: ownBody(webhook, event) ?? null,
      createdAt: event.createdAt,
    },
    event,
    webhook,
    until,
  )
