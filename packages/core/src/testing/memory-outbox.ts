import type { WebhookEvent } from '../domain/event.js'
import type { Instant } from '../domain/instant.js'
import type { Webhook } from '../domain/webhook.js'
import type { ClaimedDelivery, Outgoing } from '../ports/delivery-store.js'
import type { DeliveryRow, Memory } from './memory.js'

/** Keeps the event and makes its deliveries, one per subscribed webhook; answers those that are born claimed. */
export function publish(
  memory: Memory,
  { event, nextDeliveryId, notTo, claim }: Outgoing,
): ClaimedDelivery[] {
  memory.events.set(event.id, event)
  const subscribed = [...memory.webhooks.values()].filter(
    (webhook) => webhook.id !== notTo && isSubscribed(webhook, event),
  )
  return subscribed.flatMap((webhook) => {
    const row = publishOne(memory, event, webhook, nextDeliveryId())
    return claim && isBornClaimed(webhook, claim.except)
      ? [claimDelivery(memory, row, webhook, claim.until)]
      : []
  })
}

const isBornClaimed = (
  { id, projectId, status, health }: Webhook,
  except: Pick<ReadonlySet<string>, 'has'>,
): boolean =>
  status.kind === 'enabled' &&
  health.circuit.kind === 'closed' &&
  !except.has(id) &&
  !except.has(projectId)

/** One delivery of the event, to this webhook. */
export function publishOne(
  memory: Memory,
  event: WebhookEvent,
  webhook: Webhook,
  deliveryId: string,
): DeliveryRow {
  memory.events.set(event.id, event)
  const row = newDelivery(deliveryId, webhook, event)
  memory.deliveries.set(deliveryId, row)
  return row
}

const isSubscribed = ({ projectId, events, agentId }: Webhook, event: WebhookEvent): boolean =>
  projectId === event.projectId &&
  events.some((name) => name === '*' || name === event.name) &&
  (agentId === undefined || agentId === event.agentId)

function newDelivery(id: string, webhook: Webhook, event: WebhookEvent): DeliveryRow {
  const state = { kind: 'pending', nextAttemptAt: event.createdAt, step: 0 } as const
  const { projectId, createdAt } = event
  const delivery = {
    id,
    projectId,
    webhookId: webhook.id,
    eventId: event.id,
    event: event.name,
    attemptCount: 0,
    state,
    createdAt,
  }
  return { delivery, token: 0, attempts: [] }
}

/** The right to send it, under a new token, which supersedes the older ones. The place in the schedule stays. */
export function claimDelivery(
  memory: Memory,
  row: DeliveryRow,
  webhook: Webhook,
  until: Instant,
): ClaimedDelivery {
  const { step, resumeAt } =
    'step' in row.delivery.state ? row.delivery.state : { step: 0, resumeAt: undefined }
  const extra = resumeAt === undefined ? {} : { resumeAt }
  const delivery = {
    ...row.delivery,
    state: { kind: 'sending', leaseUntil: until, step, ...extra },
  } as const
  row.delivery = delivery
  row.token = ++memory.lastToken
  const trace = memory.events.get(delivery.eventId)?.trace
  return {
    delivery,
    lease: { token: row.token, until },
    webhook,
    body: bodyOf(memory, row),
    ...(trace && { trace }),
  }
}

export const bodyOf = (memory: Memory, { delivery }: DeliveryRow): string =>
  memory.events.get(delivery.eventId)?.body ?? ''
