import type {
  AuditEntry,
  WebhookDelivery,
  Instant,
  Webhook,
  DeliveryDetail,
  Page,
} from '@org/agent-messaging-core'
import { circuitAt } from '@org/agent-messaging-core/host'
import {
  openDeliveries,
  ClaimBudget,
  decideRedelivery,
  keepsOrder,
  isForEndUser,
  attemptCounts,
  isHook,
  leaseEnd,
  newTestClaim,
  heldByProbe,
  readyToProbe,
  tryPage,
  changeWebhook,
  type OpenQueue,
  type Outgoing,
  type Published,
  type CancelReason,
  type OperatorReason,
  type WebhookEvent,
  type AttemptRecord,
  type CancelStale,
  type ClaimDue,
  type ClaimedDeliveries,
  type ClaimedDelivery,
  type DeliveriesOfMessages,
  type DeliveryBacklog,
  type DeliveryPurge,
  type DeliveryStore,
  type ErasedDeliveries,
  type LastFailure,
  type MessageDelivery,
  type RecordedAttempt,
  type RedeliverFilter,
  type Redelivered,
  type ReleasedClaim,
  type SenderLease,
  type PageOf,
  type PrincipalStep,
} from '@org/agent-messaging-core/storage'
import { recorded } from './memory-audit.js'
import {
  dueAt,
  finishedAt,
  isOpen,
  isRetry,
  leaveRecovery,
  matches,
  removeDelivery,
} from './memory-delivery-rows.js'
import {
  eraseLoggedEvents,
  purgeLoggedEvents,
  isForgotten,
  keyOfDelivered,
  personIn,
} from './memory-event-log.js'
import { ofProject, type DeliveryRow, type Immediate, type Memory, keyOfEvent } from './memory.js'
import { claimDelivery, publish, publishOne, receiverIdIn } from './memory-outbox.js'
import { advanceOrder } from './memory-order.js'
import { newestFirst } from './memory-page.js'
import { appendCount } from './memory-counts.js'

export class MemoryDeliveries implements Immediate<DeliveryStore> {
  readonly #memory: Memory

  constructor(memory: Memory) {
    this.#memory = memory
  }

  claimDue(query: ClaimDue): ClaimedDeliveries {
    const budget = new ClaimBudget(query)
    const deliveries = this.#webhooksInTurn()
      .filter(({ id, projectId }) => !query.except.has(id) && !query.except.has(projectId))
      .filter((webhook) => isReady(webhook, query.now))
      .flatMap((webhook) => this.#claimOf(webhook, budget, query))
    return { deliveries, skipped: budget.filled }
  }

  registerSender({ id, now, until }: SenderLease): string[] {
    const { senders } = this.#memory
    senders.set(id, until)
    for (const [sender, end] of senders) if (end <= now) senders.delete(sender)
    return [...senders.keys()].sort()
  }

  recordAttempts(records: readonly AttemptRecord[]): RecordedAttempt[] {
    return records.map((record) => this.#recordAttempt(record))
  }

  release(claims: readonly ReleasedClaim[], now: Instant): number {
    return claims.filter((claim) => this.#release(claim, now)).length
  }

  publishTo(
    webhookId: string,
    event: WebhookEvent,
    deliveryId: string,
    claim?: Outgoing['claim'],
  ): Published | undefined {
    const webhook = ofProject(this.#memory.webhooks.get(webhookId), event.projectId)
    if (!webhook || isHook(webhook)) return undefined
    const row = publishOne(this.#memory, event, webhook, deliveryId)
    const { until, skipped } = newTestClaim(webhook, claim)
    const deliveries = until === undefined ? [] : [this.#claimProbe(row, webhook, until)]
    if (until === undefined) this.#makeReadyToProbe(webhook.id, event.createdAt)
    const claims = { deliveries, skipped: skipped === undefined ? [] : [skipped] }
    return { delivery: row.delivery, claims }
  }

  /** The recovery counts the deliveries from then on. */
  redeliver(
    filter: RedeliverFilter,
    page: PageOf,
    now: Instant,
    audit?: AuditEntry,
    recovery?: { readonly id: string; readonly isTry: boolean },
  ): Redelivered {
    const ofWebhooks = this.#find(filter).filter(({ webhookId }) =>
      this.#memory.webhooks.has(webhookId),
    )
    const decide = (delivery: WebhookDelivery) =>
      decideRedelivery(delivery.state, now, filter.deliveryId !== undefined)
    const canTry = (delivery: WebhookDelivery) => decide(delivery) !== undefined
    const found = newestFirst(ofWebhooks, page)
    const { data, nextCursor } = recovery?.isTry ? tryPage(found, canTry) : found
    for (const { webhookId } of recovery?.isTry ? data.filter(canTry) : data)
      this.#makeReadyToProbe(webhookId, now)
    const changed = data.filter((delivery) => {
      const state = decide(delivery)
      const row = this.#memory.deliveries.get(delivery.id)
      const leaves = recovery ?? (!isOpen(delivery.state) && this.#isSending(row?.recovery))
      if (row && state && leaves) {
        leaveRecovery(this.#memory, row)
        delete row.recovery
        if (recovery) row.recovery = { id: recovery.id, attempts: delivery.attemptCount }
      }
      if (row && state) row.delivery = redelivered(delivery, state)
      return state !== undefined
    })
    recorded(this.#memory, audit, changed.length > 0)
    return { matched: data.length, count: changed.length, nextCursor }
  }

  cancel(
    projectId: string,
    deliveryId: string,
    now: Instant,
    audit?: AuditEntry,
    reason: OperatorReason = 'operator',
  ): WebhookDelivery | 'already_final' | undefined {
    return recorded(this.#memory, audit, this.#end(projectId, deliveryId, now, reason))
  }

  get(projectId: string, deliveryId: string): DeliveryDetail | undefined {
    const row = this.#memory.deliveries.get(deliveryId)
    if (row?.delivery.projectId !== projectId) return undefined
    return { delivery: row.delivery, body: row.body, attempts: row.attempts }
  }

  list(filter: RedeliverFilter, page: PageOf): Page<WebhookDelivery> {
    return newestFirst(this.#find(filter), page)
  }

  lastFailures(projectId: string, webhookIds: readonly string[]): LastFailure[] {
    return webhookIds
      .filter((id) => ofProject(this.#webhook(id), projectId))
      .flatMap((webhookId) => {
        const failures = this.#rows()
          .filter(({ delivery }) => delivery.webhookId === webhookId)
          .flatMap(({ delivery, attempts }) =>
            attempts.map((attempt) => ({ ...attempt, deliveryId: delivery.id })),
          )
          .filter(({ outcome }) => outcome.kind !== 'accepted')
          .toSorted((a, b) => a.startedAt - b.startedAt || (a.deliveryId < b.deliveryId ? -1 : 1))
        const last = failures.at(-1)
        if (!last) return []
        const { deliveryId, attemptNumber, startedAt, outcome } = last
        return { webhookId, deliveryId, attemptNumber, startedAt, outcome }
      })
  }

  countOpen(projectId: string, webhookIds: readonly string[], most: number): Map<string, number> {
    const counts = webhookIds
      .filter((id) => ofProject(this.#webhook(id), projectId))
      .map((id): [string, number] => {
        const open = this.#rows().filter(
          ({ delivery }) =>
            receiverIdIn(this.#memory, delivery.webhookId) === receiverIdIn(this.#memory, id) &&
            isOpen(delivery.state),
        )
        return [id, Math.min(most, open.length)]
      })
    return new Map(counts)
  }

  ofMessages({ projectId, messageIds, limit }: DeliveriesOfMessages): MessageDelivery[] {
    return messageIds.flatMap((messageId) =>
      this.list({ projectId, messageId }, { limit }).data.map((delivery) => ({
        messageId,
        delivery,
      })),
    )
  }

  cancelOrphans({ now, limit }: { now: Instant; limit: number }): number {
    const orphans = this.#rows()
      .filter(({ delivery: { state, webhookId } }) => isOpen(state) && !this.#webhook(webhookId))
      .slice(0, limit)
    this.#cancelRows(orphans, now, 'webhook_deleted')
    return orphans.length
  }

  cancelStale({ now, dueBefore, keep, limit }: CancelStale): number {
    let left = limit
    for (const { id, status } of this.#memory.webhooks.values()) {
      if (status.kind === 'enabled') continue
      const due = this.#dueOf(id, now).sort((a, b) => Number(isRetry(b)) - Number(isRetry(a)))
      const waiting = this.#rows().filter(
        ({ delivery }) => delivery.webhookId === id && delivery.state.kind === 'waiting',
      )
      const held = [...due, ...waiting]
      const tooOld = held.filter((row) => heldSince(row) < dueBefore)
      const others = held.filter((row) => heldSince(row) >= dueBefore)
      const tooMany = others.slice(0, Math.max(0, others.length - keep))
      const stale = [...tooOld, ...tooMany].slice(0, left)
      left -= stale.length
      this.#cancelRows(stale, now, 'webhook_disabled')
    }
    return limit - left
  }

  purge({
    finishedBefore,
    limit,
    eventsBefore = Infinity,
    idsBefore = eventsBefore,
  }: DeliveryPurge): number {
    const purged = this.#rows()
      .map(({ delivery }) => delivery)
      .filter(({ state }) => finishedAt(state) < finishedBefore)
      .sort((a, b) => finishedAt(a.state) - finishedAt(b.state))
      .slice(0, limit)
    const keys = new Set(purged.map(keyOfDelivered))
    this.#remove(purged)
    purgeLoggedEvents(
      this.#memory,
      (event) =>
        event.createdAt < eventsBefore &&
        isForgotten(event, idsBefore) &&
        keys.has(keyOfEvent(event)),
    )
    return purged.length
  }

  erasePrincipal({ projectId, endUserId, countOnly, now, audit }: PrincipalStep): ErasedDeliveries {
    const isOf = (event: WebhookEvent | undefined): boolean =>
      event !== undefined && isForEndUser(personIn(event), endUserId)
    const erased = this.#rows()
      .filter(({ delivery }) => delivery.projectId === projectId)
      .filter((row) => isOf(this.#memory.events.get(keyOfDelivered(row.delivery))))
      .map(({ delivery }) => delivery)
    if (!countOnly) {
      for (const delivery of erased) this.#releaseProbe(delivery, now)
      this.#remove(erased)
      const keys = new Set(erased.map(keyOfDelivered))
      eraseLoggedEvents(this.#memory, (event) => keys.has(keyOfEvent(event)))
      for (const delivery of erased) advanceOrder(this.#memory, delivery, now)
      recorded(this.#memory, audit, erased.length > 0)
    }
    return { deliveries: erased.length }
  }

  backlog(
    now: Instant,
    limited: ReadonlySet<string> = new Set(),
    projectId?: string,
  ): DeliveryBacklog {
    const isOf = (row: { readonly projectId: string }) =>
      projectId === undefined || row.projectId === projectId
    const open = this.#rows().filter(({ delivery }) => isOpen(delivery.state) && isOf(delivery))
    const waiting = open.filter(({ delivery }) => delivery.state.kind === 'waiting')
    const webhooks = [...this.#memory.webhooks.values()].filter(isOf)
    const circuits = webhooks.map(({ health }) => circuitAt(health, now))
    const ids = new Set(open.map(({ delivery }) => receiverIdIn(this.#memory, delivery.webhookId)))
    const queues = [...ids].map((id) => this.#openQueue(id, open, now))
    return {
      ...openDeliveries(queues, now, limited, {
        count: waiting.length,
        oldestAt: Math.min(...waiting.map(({ delivery }) => delivery.createdAt)),
      }),
      disabledWebhooks: webhooks.filter(({ status }) => status.kind === 'disabled').length,
      openCircuits: circuits.filter((circuit) => circuit === 'open').length,
      halfOpenCircuits: circuits.filter((circuit) => circuit === 'half_open').length,
    }
  }

  backlogs(now: Instant, limited?: ReadonlySet<string>): ReadonlyMap<string, DeliveryBacklog> {
    const ids = [...this.#memory.webhooks.values()].map(({ projectId }) => projectId)
    return new Map(ids.map((id) => [id, this.backlog(now, limited, id)]))
  }

  #recordAttempt({
    deliveryId,
    token,
    attempt,
    state,
    decideHealth,
    outgoing,
    count,
    endCount,
  }: AttemptRecord): RecordedAttempt {
    const row = this.#memory.deliveries.get(deliveryId)
    if (!row) return { kind: 'lease_lost' }
    const { state: before } = row.delivery
    const claim = { isOpen: isOpen(before), isClaimed: before.kind === 'sending', lease: row.token }
    if (!attemptCounts(claim, token, attempt.outcome.kind)) return { kind: 'lease_lost' }
    appendCount(this.#memory, count)
    appendCount(this.#memory, endCount)
    const attemptCount = row.attempts.push({ ...attempt, attemptNumber: row.attempts.length + 1 })
    row.delivery = { ...row.delivery, attemptCount, state }
    const nextIsDue = !isOpen(state) && advanceOrder(this.#memory, row.delivery, finishedAt(state))
    if (outgoing) publish(this.#memory, outgoing)
    const webhook = decideHealth && this.#updateHealth(row.delivery.webhookId, decideHealth)
    return { kind: 'recorded', ...(nextIsDue && { nextIsDue }), ...(webhook && { webhook }) }
  }

  #openQueue(webhookId: string, open: readonly DeliveryRow[], now: Instant): OpenQueue {
    const webhook = this.#webhook(webhookId)
    const own = open.filter(
      ({ delivery }) => receiverIdIn(this.#memory, delivery.webhookId) === webhookId,
    )
    const circuit = webhook?.health.circuit
    return {
      webhookId,
      open: own.length,
      due: own.filter((row) => dueAt(row) <= now).length,
      oldestAt: Math.min(...own.map(dueAt)),
      isDisabled: webhook?.status.kind !== 'enabled',
      isPaused: webhook?.isPaused ?? false,
      circuitUntil: circuit?.kind === 'open' ? circuit.until : null,
    }
  }

  #end(
    projectId: string,
    deliveryId: string,
    now: Instant,
    reason: OperatorReason,
  ): WebhookDelivery | 'already_final' | undefined {
    const row = this.#memory.deliveries.get(deliveryId)
    if (row?.delivery.projectId !== projectId) return undefined
    if (!isOpen(row.delivery.state)) return 'already_final'
    this.#releaseProbe(row.delivery, now)
    this.#cancelRows([row], now, reason)
    return row.delivery
  }

  #cancelRows(rows: readonly DeliveryRow[], cancelledAt: Instant, reason: CancelReason): void {
    const state = { kind: 'cancelled', cancelledAt, reason } as const
    for (const row of rows) row.delivery = { ...row.delivery, state }
    for (const { delivery } of rows) advanceOrder(this.#memory, delivery, cancelledAt)
  }

  #rows(): DeliveryRow[] {
    return [...this.#memory.deliveries.values()]
  }

  #find(filter: RedeliverFilter): WebhookDelivery[] {
    return this.#rows()
      .filter((row) => matches(row, filter, this.#memory.events.get(keyOfDelivered(row.delivery))))
      .map(({ delivery }) => delivery)
      .filter(({ webhookId }) => !filter.withoutHooks || !this.#webhook(webhookId)?.hook)
  }

  #webhook(webhookId: string): Webhook | undefined {
    return this.#memory.webhooks.get(webhookId)
  }

  /** Due deliveries of the webhook, the longest due first. */
  #dueOf(webhookId: string, now: Instant): DeliveryRow[] {
    return this.#rows()
      .filter(
        (row) =>
          receiverIdIn(this.#memory, row.delivery.webhookId) === webhookId && dueAt(row) <= now,
      )
      .sort((a, b) => dueAt(a) - dueAt(b))
  }

  /** All webhooks. The webhooks after the last one served come first. */
  #webhooksInTurn(): Webhook[] {
    const { webhooks, lastServedWebhook } = this.#memory
    const ordered = [...webhooks.values()].sort((a, b) => (a.id < b.id ? -1 : 1))
    const next = ordered.findIndex(({ id }) => id > lastServedWebhook)
    return next === -1 ? ordered : [...ordered.slice(next), ...ordered.slice(0, next)]
  }

  #claimOf(webhook: Webhook, budget: ClaimBudget, query: ClaimDue): ClaimedDelivery[] {
    const { now } = query
    const until = leaseEnd(query, webhook)
    const candidate = {
      id: webhook.id,
      projectId: webhook.projectId,
      isHalfOpen: circuitAt(webhook.health, now) === 'half_open',
    }
    const due = this.#dueOf(webhook.id, now).map((row) => ({ row, dueAt: dueAt(row) }))
    const firsts = due.filter(({ row }) => !isRetry(row))
    const retries = due.filter(({ row }) => isRetry(row))
    const { deliveries } = budget.take(candidate, firsts, retries)
    if (deliveries.length === 0) return []
    this.#memory.lastServedWebhook = webhook.id
    return deliveries.map(({ row }) => this.#claimProbe(row, webhook, until))
  }

  /** Claims the delivery. An open circuit is held to the end of the claim. */
  #claimProbe(row: DeliveryRow, webhook: Webhook, until: Instant): ClaimedDelivery {
    const claimed = { ...webhook, health: heldByProbe(webhook.health, until) }
    this.#memory.webhooks.set(webhook.id, claimed)
    const own = this.#webhook(row.delivery.webhookId) ?? claimed
    return claimDelivery(this.#memory, row, { ...own, health: claimed.health }, until)
  }

  #updateHealth(
    webhookId: string,
    decideHealth: NonNullable<AttemptRecord['decideHealth']>,
  ): { before: Webhook; after: Webhook } | undefined {
    const before = this.#webhook(receiverIdIn(this.#memory, webhookId))
    const decision = before && decideHealth(before)
    if (!decision) return undefined
    const after = changeWebhook(before, decision.change)
    this.#memory.webhooks.set(after.id, after)
    if (decision.outgoing) publish(this.#memory, decision.outgoing)
    return { before, after }
  }

  #release({ deliveryId, token, isProbe }: ReleasedClaim, now: Instant): boolean {
    const row = this.#memory.deliveries.get(deliveryId)
    if (row?.token !== token || row.delivery.state.kind !== 'sending') return false
    const { kind: _, leaseUntil: __, ...place } = row.delivery.state
    if (isProbe) this.#releaseProbe(row.delivery, now)
    row.delivery = { ...row.delivery, state: { kind: 'pending', nextAttemptAt: now, ...place } }
    return true
  }

  /**
   * Lets the webhook be probed again if this delivery is its probe. A probe holds the circuit open
   * to the end of its lease.
   */
  #releaseProbe({ webhookId, state }: WebhookDelivery, now: Instant): void {
    const circuit = this.#webhook(receiverIdIn(this.#memory, webhookId))?.health.circuit
    if (state.kind === 'sending' && circuit?.kind === 'open' && circuit.until === state.leaseUntil)
      this.#makeReadyToProbe(webhookId, now)
  }

  #makeReadyToProbe(webhookId: string, now: Instant): void {
    const webhook = this.#webhook(receiverIdIn(this.#memory, webhookId))
    if (!webhook) return
    const health = readyToProbe(webhook.health, now)
    this.#memory.webhooks.set(webhook.id, { ...webhook, health })
  }

  #isSending(recovery: DeliveryRow['recovery']): boolean {
    return this.#memory.recoveries.get(recovery?.id ?? '')?.task.state.kind === 'sending'
  }

  #remove(removed: readonly WebhookDelivery[]): void {
    for (const { id } of removed) removeDelivery(this.#memory, id)
  }
}

function redelivered(delivery: WebhookDelivery, state: WebhookDelivery['state']): WebhookDelivery {
  if (keepsOrder(delivery.state)) return { ...delivery, state }
  const { orderKey: _, ...unordered } = delivery
  return { ...unordered, state }
}

const heldSince = (row: DeliveryRow): Instant =>
  row.delivery.state.kind === 'waiting' ? row.delivery.createdAt : dueAt(row)

const isReady = (webhook: Webhook | undefined, now: Instant): boolean =>
  webhook?.status.kind === 'enabled' &&
  !webhook.isPaused &&
  circuitAt(webhook.health, now) !== 'open'
