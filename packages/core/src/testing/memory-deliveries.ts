import { decideRedelivery, deliveryStatusOf, type DeliveryState, type WebhookDelivery } from '../domain/delivery.js'
import type { Instant } from '../domain/instant.js'
import type { Webhook } from '../domain/webhook.js'
import type { DeliveryStore, RedeliverFilter } from '../ports/delivery-store.js'
import { ofProject, type DeliveryRow, type Immediate, type Memory } from './memory.js'
import { bodyOf, claimDelivery, publishOne } from './memory-outbox.js'
import { newestFirst } from './memory-page.js'

export const memoryDeliveries = (memory: Memory): Immediate<DeliveryStore> => ({
  claimDue({ now, until, limit, perWebhook, except }) {
    const lanes = goingRound(memory).filter(({ id, status }) => status.kind === 'enabled' && !except.has(id))
    const taken = lanes.flatMap((webhook) =>
      dueOf(memory, webhook.id, now)
        .slice(0, perWebhook)
        .map((row) => ({ row, webhook })),
    )
    const within = taken.slice(0, limit)
    memory.lastServedWebhook = within.at(-1)?.webhook.id ?? memory.lastServedWebhook
    return within.map(({ row, webhook }) => claimDelivery(memory, row, webhook, until))
  },

  recordAttempt({ deliveryId, token, attempt, state }) {
    const row = memory.deliveries.get(deliveryId)
    if (!row || !isOpen(row.delivery.state)) return 'lease_lost'
    const holds = row.delivery.state.kind === 'sending' && row.token === token
    if (!holds && attempt.outcome.kind !== 'accepted') return 'lease_lost'
    const attemptNumber = row.attempts.push({ ...attempt, attemptNumber: row.attempts.length + 1 })
    row.delivery = { ...row.delivery, attemptCount: attemptNumber, state }
    return 'recorded'
  },

  publishTo(webhookId, event, deliveryId) {
    const webhook = ofProject(memory.webhooks.get(webhookId), event.projectId)
    return webhook && publishOne(memory, event, webhook, deliveryId).delivery
  },

  redeliver(filter, page, now) {
    const living = [...memory.deliveries.values()].map(({ delivery }) => delivery).filter(({ webhookId }) => memory.webhooks.has(webhookId))
    const { data, nextCursor } = newestFirst(
      living.filter((delivery) => matches(delivery, filter)),
      page,
    )
    const changed = data.filter((delivery) => {
      const state = decideRedelivery(delivery.state, now)
      const row = memory.deliveries.get(delivery.id)
      if (row && state) row.delivery = { ...delivery, state }
      return state !== undefined
    })
    return { count: changed.length, nextCursor }
  },

  cancel(projectId, deliveryId, now) {
    const row = memory.deliveries.get(deliveryId)
    if (row?.delivery.projectId !== projectId) return undefined
    if (!isOpen(row.delivery.state)) return 'already_final'
    row.delivery = { ...row.delivery, state: { kind: 'cancelled', cancelledAt: now, reason: 'operator' } }
    return row.delivery
  },

  get(projectId, deliveryId) {
    const row = memory.deliveries.get(deliveryId)
    if (row?.delivery.projectId !== projectId) return undefined
    return { delivery: row.delivery, body: bodyOf(memory, row), attempts: row.attempts }
  },

  list(filter, page) {
    const deliveries = [...memory.deliveries.values()].map(({ delivery }) => delivery)
    return newestFirst(
      deliveries.filter((delivery) => matches(delivery, filter)),
      page,
    )
  },

  cancelOrphans({ now, limit }) {
    const orphans = [...memory.deliveries.values()].filter(
      ({ delivery }) => isOpen(delivery.state) && !memory.webhooks.has(delivery.webhookId),
    )
    for (const row of orphans.slice(0, limit)) {
      row.delivery = { ...row.delivery, state: { kind: 'cancelled', cancelledAt: now, reason: 'webhook_deleted' } }
    }
    return Math.min(orphans.length, limit)
  },
})

const isOpen = ({ kind }: DeliveryState): boolean => kind === 'pending' || kind === 'sending'

/** All webhooks, those behind the last one served first. */
function goingRound({ webhooks, lastServedWebhook }: Memory): Webhook[] {
  const inOrder = [...webhooks.values()].sort((a, b) => (a.id < b.id ? -1 : 1))
  const next = inOrder.findIndex(({ id }) => id > lastServedWebhook)
  return next === -1 ? inOrder : [...inOrder.slice(next), ...inOrder.slice(0, next)]
}

/** The oldest due first. */
function dueOf(memory: Memory, webhookId: string, now: Instant): DeliveryRow[] {
  const open = [...memory.deliveries.values()].filter(({ delivery }) => delivery.webhookId === webhookId)
  return open.filter((row) => dueAt(row) <= now).sort((a, b) => dueAt(a) - dueAt(b))
}

/** When it may be claimed: at its next attempt, or when the lease of a sender that died ends. A final one never. */
function dueAt({ delivery: { state } }: DeliveryRow): Instant {
  if (state.kind === 'pending') return state.nextAttemptAt
  return state.kind === 'sending' ? state.leaseUntil : Infinity
}

const matches = (delivery: WebhookDelivery, filter: RedeliverFilter): boolean => {
  const { projectId, deliveryId, webhookId, event, status, createdAfter = -Infinity, createdBefore = Infinity } = filter
  return (
    delivery.projectId === projectId &&
    (deliveryId === undefined || delivery.id === deliveryId) &&
    (webhookId === undefined || delivery.webhookId === webhookId) &&
    (event === undefined || delivery.event === event) &&
    (status === undefined || deliveryStatusOf(delivery.state) === status) &&
    delivery.createdAt >= createdAfter &&
    delivery.createdAt < createdBefore
  )
}
