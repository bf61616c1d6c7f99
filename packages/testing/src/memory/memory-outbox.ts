import type { Instant, Webhook } from '@org/agent-messaging-core'
import {
  orderKeyOf,
  ownBody,
  subscribesTo,
  newDeliveryClaim,
  isHook,
  receiverIdOf,
  sharedReceiver,
  matchesFilter,
  type DeliveryState,
  type WebhookEvent,
  type HookOfMessage,
  type ClaimedDeliveries,
  type ClaimedDelivery,
  type Outgoing,
} from '@org/agent-messaging-core/storage'
import { addToLog, keyOfDelivered } from './memory-event-log.js'
import { removeDelivery } from './memory-delivery-rows.js'
import { openWithKey } from './memory-order.js'
import type { DeliveryRow, Memory } from './memory.js'

/**
 * Stores each event with one delivery for each subscribed webhook. Returns the deliveries that are
 * created claimed.
 */
export function publish(memory: Memory, outgoing?: Outgoing): ClaimedDeliveries {
  const claims = { deliveries: [], skipped: [] }
  if (outgoing) for (const event of outgoing.events) publishEvent(memory, event, outgoing, claims)
  return claims
}

function publishEvent(
  memory: Memory,
  event: WebhookEvent,
  { nextDeliveryId, notTo, claim }: Outgoing,
  claims: { readonly deliveries: ClaimedDelivery[]; readonly skipped: string[] },
): void {
  addToLog(memory, event)
  for (const webhook of receiversOf(memory, event, notTo).map((one) => withHealth(memory, one))) {
    const row = publishOne(memory, event, webhook, nextDeliveryId())
    const isWaiting = row.delivery.state.kind === 'waiting'
    const { until, skipped } = newDeliveryClaim(webhook, isWaiting ? undefined : claim)
    if (until !== undefined) claims.deliveries.push(claimDelivery(memory, row, webhook, until))
    if (skipped !== undefined) claims.skipped.push(skipped)
  }
}

/** Returns the webhooks that get the event. */
export const receiversOf = (memory: Memory, event: WebhookEvent, notTo?: string): Webhook[] =>
  [...memory.webhooks.values()].filter(
    (webhook) => webhook.id !== notTo && isSubscribed(webhook, event),
  )

/** Stores the event with one delivery for this webhook. */
export function publishOne(
  memory: Memory,
  event: WebhookEvent,
  webhook: Webhook,
  deliveryId: string,
): DeliveryRow {
  addToLog(memory, event)
  const orderKey = orderKeyOf(webhook, event)
  const [first] = orderKey === undefined ? [] : openWithKey(memory, orderKey)
  const state: DeliveryState = first
    ? { kind: 'waiting', blockedBy: first.delivery.id }
    : { kind: 'pending', nextAttemptAt: event.createdAt, step: 0 }
  const row = newDelivery(deliveryId, webhook, event, state)
  if (orderKey !== undefined) row.delivery = { ...row.delivery, orderKey }
  memory.deliveries.set(deliveryId, row)
  return row
}

type Replayed = {
  readonly event: WebhookEvent
  readonly webhook: Webhook
  readonly deliveryId: string
  readonly recoveryId: string
  readonly now: Instant
}

/** Makes a delivery of a stored event, which counts for the recovery. */
export function replayOne(memory: Memory, one: Replayed): void {
  const { event, webhook, deliveryId, recoveryId, now } = one
  const state: DeliveryState = { kind: 'pending', nextAttemptAt: now, step: 0 }
  const row = newDelivery(deliveryId, webhook, event, state)
  row.delivery = { ...row.delivery, createdAt: now }
  row.recovery = { id: recoveryId, attempts: 0 }
  memory.deliveries.set(deliveryId, row)
}

const isSubscribed = ({ projectId, events, filter, hook }: Webhook, event: WebhookEvent): boolean =>
  projectId === event.projectId &&
  (hook === undefined || hook.messageId === event.messageId) &&
  subscribesTo(events, event.name) &&
  matchesFilter(filter, event)

const newDelivery = (
  id: string,
  webhook: Webhook,
  event: WebhookEvent,
  state: DeliveryState,
): DeliveryRow => ({
  delivery: {
    id,
    projectId: event.projectId,
    webhookId: webhook.id,
    eventId: event.id,
    event: event.name,
    attemptCount: 0,
    state,
    createdAt: event.createdAt,
  },
  body: ownBody(webhook, event) ?? event.body,
  token: 0,
  attempts: [],
})

/**
 * Claims a delivery under a new token, which supersedes older tokens. The retry schedule continues.
 */
export function claimDelivery(
  memory: Memory,
  row: DeliveryRow,
  webhook: Webhook,
  until: Instant,
): ClaimedDelivery {
  const { step, resumeAt } =
    'step' in row.delivery.state ? row.delivery.state : { step: 0, resumeAt: undefined }
  const resume = resumeAt === undefined ? {} : { resumeAt }
  const delivery = {
    ...row.delivery,
    state: { kind: 'sending', leaseUntil: until, step, ...resume },
  } as const
  row.delivery = delivery
  row.token = ++memory.lastToken
  const trace = memory.events.get(keyOfDelivered(delivery))?.trace
  return {
    delivery,
    lease: { token: row.token, until },
    webhook,
    body: row.body,
    ...(trace && { trace }),
  }
}

/** Stores a hook, and its receiver if it is new. */
export function addHook({ webhooks }: Memory, hook: HookOfMessage): void {
  const receiver = sharedReceiver(hook)
  if (!webhooks.has(receiver.id)) webhooks.set(receiver.id, receiver)
  webhooks.set(hook.id, hook)
  removeReceivers(webhooks)
}

/** Deletes the receivers without hooks. */
function removeReceivers(webhooks: Memory['webhooks']): void {
  const hooks = [...webhooks.values()].filter(isHook)
  const used = new Set(hooks.filter(({ hook }) => hook.messageId !== '').map(receiverIdOf))
  for (const { id, hook } of hooks) if (hook.messageId === '' && !used.has(id)) webhooks.delete(id)
}

/** The receiver of a webhook or hook. */
export function receiverIdIn({ webhooks }: Memory, webhookId: string): string {
  const webhook = webhooks.get(webhookId)
  return webhook ? receiverIdOf(webhook) : webhookId
}

/** A hook with the health of its receiver. */
export const withHealth = <W extends Webhook>({ webhooks }: Memory, webhook: W): W => ({
  ...webhook,
  health: (webhooks.get(receiverIdOf(webhook)) ?? webhook).health,
})

/** Deletes hooks with their deliveries. */
export function deleteHooks(memory: Memory, which: (hook: HookOfMessage) => boolean): void {
  for (const webhook of [...memory.webhooks.values()].filter(isHook).filter(which)) {
    memory.webhooks.delete(webhook.id)
    for (const [id, { delivery }] of memory.deliveries)
      if (delivery.webhookId === webhook.id) removeDelivery(memory, id)
  }
  removeReceivers(memory.webhooks)
}
