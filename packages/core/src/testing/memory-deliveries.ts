import {
  decideRedelivery,
  deliveryStatusOf,
  type DeliveryState,
  type WebhookDelivery,
} from '../domain/delivery.js'
import { isForEndUser } from '../domain/event.js'
import type { Instant } from '../domain/instant.js'
import { changeWebhook, type Webhook } from '../domain/webhook.js'
import { circuitAt, heldByProbe, readyToProbe } from '../domain/webhook-health.js'
import type { ClaimedDelivery, DeliveryStore, RedeliverFilter } from '../ports/delivery-store.js'
import { countAttempts } from './memory-activity.js'
import { ofProject, type DeliveryRow, type Immediate, type Memory } from './memory.js'
import { bodyOf, claimDelivery, publish, publishOne } from './memory-outbox.js'
import { newestFirst } from './memory-page.js'

export const memoryDeliveries = (memory: Memory): Immediate<DeliveryStore> => ({
  claimDue({ now, until, limit, perWebhook, perProject, retries, except }) {
    const room = { left: limit, retries, ofProject: new Map<string, number>() }
    const claimed: ClaimedDelivery[] = []
    for (const webhook of goingRound(memory)) {
      const { id, projectId, status } = webhook
      const circuit = circuitAt(webhook.health, now)
      if (
        status.kind === 'disabled' ||
        circuit === 'open' ||
        except.has(id) ||
        except.has(projectId)
      )
        continue
      const ofProject = room.ofProject.get(projectId) ?? perProject
      const most = Math.min(room.left, ofProject, circuit === 'half_open' ? 1 : perWebhook)
      const rows = withinRetries(dueOf(memory, id, now), room.retries).slice(0, most)
      if (rows.length === 0) continue
      room.left -= rows.length
      room.retries -= rows.filter(isRetry).length
      room.ofProject.set(projectId, ofProject - rows.length)
      memory.lastServedWebhook = id
      const claimedFrom = { ...webhook, health: heldByProbe(webhook.health, until) }
      memory.webhooks.set(id, claimedFrom)
      claimed.push(...rows.map((row) => claimDelivery(memory, row, claimedFrom, until)))
    }
    return claimed
  },

  recordAttempt({ deliveryId, token, attempt, state, decideHealth }) {
    const row = memory.deliveries.get(deliveryId)
    if (!row || !isOpen(row.delivery.state)) return { kind: 'lease_lost' }
    const holds = row.delivery.state.kind === 'sending' && row.token === token
    if (!holds && attempt.outcome.kind !== 'accepted') return { kind: 'lease_lost' }
    const attemptNumber = row.attempts.push({ ...attempt, attemptNumber: row.attempts.length + 1 })
    row.delivery = { ...row.delivery, attemptCount: attemptNumber, state }
    const before = memory.webhooks.get(row.delivery.webhookId)
    const verdict = before && decideHealth?.(before)
    if (!verdict) return { kind: 'recorded' }
    const after = changeWebhook(before, verdict.change)
    memory.webhooks.set(after.id, after)
    if (verdict.outgoing) publish(memory, verdict.outgoing)
    return { kind: 'recorded', webhook: { before, after } }
  },

  release(claims, now) {
    const held = claims.flatMap(({ deliveryId, token, isProbe }) => {
      const row = memory.deliveries.get(deliveryId)
      return row?.token === token && row.delivery.state.kind === 'sending'
        ? [{ row, isProbe, sending: row.delivery.state }]
        : []
    })
    for (const { row, isProbe, sending } of held) {
      const { kind: _, leaseUntil: __, ...place } = sending
      if (isProbe) readyProbed(memory, row.delivery, now)
      row.delivery = { ...row.delivery, state: { kind: 'pending', nextAttemptAt: now, ...place } }
    }
    return held.length
  },

  publishTo(webhookId, event, deliveryId) {
    const webhook = ofProject(memory.webhooks.get(webhookId), event.projectId)
    if (!webhook) return undefined
    readyWebhook(memory, webhook.id, event.createdAt)
    return publishOne(memory, event, webhook, deliveryId).delivery
  },

  redeliver(filter, page, now) {
    const living = [...memory.deliveries.values()]
      .map(({ delivery }) => delivery)
      .filter(({ webhookId }) => memory.webhooks.has(webhookId))
    const { data, nextCursor } = newestFirst(
      living.filter((delivery) => matches(memory, delivery, filter)),
      page,
    )
    for (const { webhookId } of data) readyWebhook(memory, webhookId, now)
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
    readyProbed(memory, row.delivery, now)
    row.delivery = {
      ...row.delivery,
      state: { kind: 'cancelled', cancelledAt: now, reason: 'operator' },
    }
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
      deliveries.filter((delivery) => matches(memory, delivery, filter)),
      page,
    )
  },

  cancelOrphans({ now, limit }) {
    const orphans = [...memory.deliveries.values()].filter(
      ({ delivery }) => isOpen(delivery.state) && !memory.webhooks.has(delivery.webhookId),
    )
    for (const row of orphans.slice(0, limit)) {
      row.delivery = {
        ...row.delivery,
        state: { kind: 'cancelled', cancelledAt: now, reason: 'webhook_deleted' },
      }
    }
    return Math.min(orphans.length, limit)
  },

  cancelStale({ now, dueBefore, keep, limit }) {
    let left = limit
    for (const { id, status } of memory.webhooks.values()) {
      if (status.kind === 'enabled') continue
      const due = dueOf(memory, id, now).sort((a, b) => Number(isRetry(b)) - Number(isRetry(a)))
      const tooOld = due.filter((row) => dueAt(row) < dueBefore)
      const others = due.filter((row) => dueAt(row) >= dueBefore)
      const stale = [...tooOld, ...others.slice(0, Math.max(0, others.length - keep))].slice(
        0,
        left,
      )
      left -= stale.length
      for (const row of stale) {
        row.delivery = {
          ...row.delivery,
          state: { kind: 'cancelled', cancelledAt: now, reason: 'webhook_disabled' },
        }
      }
    }
    return limit - left
  },

  purge({ finishedBefore, limit }) {
    const rows = [...memory.deliveries.values()]
      .map(({ delivery }) => delivery)
      .filter(({ state }) => finishedAt(state) < finishedBefore)
    const purged = rows.sort((a, b) => finishedAt(a.state) - finishedAt(b.state)).slice(0, limit)
    remove(memory, purged)
    return purged.length
  },

  erasePrincipal({ projectId, endUserId, countOnly, now }) {
    const ours = [...memory.deliveries.values()].filter(
      ({ delivery }) => delivery.projectId === projectId,
    )
    const theirs = ours
      .filter((row) => isForEndUser(bodyOf(memory, row), endUserId))
      .map(({ delivery }) => delivery)
    if (!countOnly) {
      for (const delivery of theirs) readyProbed(memory, delivery, now)
      remove(memory, theirs)
    }
    return { deliveries: theirs.length }
  },

  activity: (query) => countAttempts(memory, query),

  backlog(now) {
    const all = [...memory.deliveries.values()]
    const due = all.filter((row) => dueAt(row) <= now)
    const ready = due.filter(({ delivery }) =>
      isReady(memory.webhooks.get(delivery.webhookId), now),
    )
    const webhooks = [...memory.webhooks.values()]
    const circuits = webhooks.map(({ health }) => circuitAt(health, now))
    return {
      open: all.filter(({ delivery }) => isOpen(delivery.state)).length,
      due: ready.length,
      ...(ready.length > 0 && { oldestDueAt: Math.min(...ready.map(dueAt)) }),
      held: due.length - ready.length,
      disabledWebhooks: webhooks.filter(({ status }) => status.kind === 'disabled').length,
      openCircuits: circuits.filter((circuit) => circuit === 'open').length,
      halfOpenCircuits: circuits.filter((circuit) => circuit === 'half_open').length,
    }
  },
})

/** And an event with the last of its deliveries. */
function remove(memory: Memory, deliveries: readonly WebhookDelivery[]): void {
  for (const { id } of deliveries) memory.deliveries.delete(id)
  const left = new Set([...memory.deliveries.values()].map(({ delivery }) => delivery.eventId))
  for (const { eventId } of deliveries) if (!left.has(eventId)) memory.events.delete(eventId)
}

const isReady = (webhook: Webhook | undefined, now: Instant): boolean =>
  webhook?.status.kind === 'enabled' && circuitAt(webhook.health, now) !== 'open'

/** An open one has not finished, and never will have by any time. */
function finishedAt(state: DeliveryState): Instant {
  switch (state.kind) {
    case 'delivered':
      return state.deliveredAt
    case 'exhausted':
      return state.exhaustedAt
    case 'cancelled':
      return state.cancelledAt
    default:
      return Infinity
  }
}

const isOpen = ({ kind }: DeliveryState): boolean => kind === 'pending' || kind === 'sending'

/** All webhooks, those behind the last one served first. */
function goingRound({ webhooks, lastServedWebhook }: Memory): Webhook[] {
  const inOrder = [...webhooks.values()].sort((a, b) => (a.id < b.id ? -1 : 1))
  const next = inOrder.findIndex(({ id }) => id > lastServedWebhook)
  return next === -1 ? inOrder : [...inOrder.slice(next), ...inOrder.slice(0, next)]
}

/** Its webhook, if it is the probe that holds the circuit: that is open to the end of its lease. */
function readyProbed(memory: Memory, { webhookId, state }: WebhookDelivery, now: Instant): void {
  const circuit = memory.webhooks.get(webhookId)?.health.circuit
  if (state.kind === 'sending' && circuit?.kind === 'open' && circuit.until === state.leaseUntil)
    readyWebhook(memory, webhookId, now)
}

function readyWebhook(memory: Memory, webhookId: string, now: Instant): void {
  const webhook = memory.webhooks.get(webhookId)
  if (webhook)
    memory.webhooks.set(webhookId, { ...webhook, health: readyToProbe(webhook.health, now) })
}

const isRetry = ({ delivery }: DeliveryRow): boolean => delivery.attemptCount > 0

/** All first attempts, and no more than so many retries. */
function withinRetries(rows: readonly DeliveryRow[], most: number): DeliveryRow[] {
  let left = most
  return rows.filter((row) => !isRetry(row) || left-- > 0)
}

/** The oldest due first. */
function dueOf(memory: Memory, webhookId: string, now: Instant): DeliveryRow[] {
  const open = [...memory.deliveries.values()].filter(
    ({ delivery }) => delivery.webhookId === webhookId,
  )
  return open.filter((row) => dueAt(row) <= now).sort((a, b) => dueAt(a) - dueAt(b))
}

/** When it may be claimed: at its next attempt, or when the lease of a sender that died ends. A final one never. */
function dueAt({ delivery: { state } }: DeliveryRow): Instant {
  if (state.kind === 'pending') return state.nextAttemptAt
  return state.kind === 'sending' ? state.leaseUntil : Infinity
}

const matches = (memory: Memory, delivery: WebhookDelivery, filter: RedeliverFilter): boolean => {
  const {
    projectId,
    deliveryId,
    webhookId,
    event,
    status,
    createdAfter = -Infinity,
    createdBefore = Infinity,
    lastAnswer,
  } = filter
  return (
    delivery.projectId === projectId &&
    (deliveryId === undefined || delivery.id === deliveryId) &&
    (webhookId === undefined || delivery.webhookId === webhookId) &&
    (event === undefined || delivery.event === event) &&
    (status === undefined || deliveryStatusOf(delivery.state) === status) &&
    delivery.createdAt >= createdAfter &&
    delivery.createdAt < createdBefore &&
    (lastAnswer === undefined || lastAnswerOf(memory, delivery) === lastAnswer)
  )
}

function lastAnswerOf(memory: Memory, { id }: WebhookDelivery): string | undefined {
  const outcome = memory.deliveries.get(id)?.attempts.at(-1)?.outcome
  if (!outcome) return undefined
  return outcome.kind === 'unreachable' ? 'none' : `${Math.floor(outcome.statusCode / 100)}xx`
}
