import type { AfterAttempt, DeliveryAttempt, DeliveryStatus, SendingDelivery, WebhookDelivery } from '../domain/delivery.js'
import type { EventName, WebhookEvent } from '../domain/event.js'
import type { Instant } from '../domain/instant.js'
import type { Webhook } from '../domain/webhook.js'
import type { Lease, Page, PageOf, Stored } from './storage.js'

/** Deliveries and their attempts. A fact's deliveries are born in the commit of the fact, one per subscribed webhook. */
export interface DeliveryStore {
  /**
   * Claims due deliveries of enabled webhooks: at most `perWebhook` of each and `limit` in all, oldest due first within a
   * webhook, going round the webhooks from call to call, so that no backlog delays another's. Skips the webhooks in `except`.
   */
  claimDue(query: ClaimDue): Stored<ClaimedDelivery[]>
  /**
   * Numbers and keeps the attempt and moves the delivery to `state`, or neither. A superseded token is refused, but for an
   * accepted attempt of a delivery that is not final: what a receiver took is delivered, however late we learn it.
   */
  recordAttempt(record: AttemptRecord): Stored<'recorded' | 'lease_lost'>
  /** Commits the event with one delivery, due now, to this webhook, subscribed or not. Undefined when it is not of the event's project. */
  publishTo(webhookId: string, event: WebhookEvent, deliveryId: string): Stored<WebhookDelivery | undefined>
  /**
   * Makes matching deliveries of webhooks that still exist due now, as `decideRedelivery` says, newest first; looks at
   * `page.limit` of them at most. `count` is of those that it changed; with `nextCursor` the caller goes on.
   */
  redeliver(filter: RedeliverFilter, page: PageOf, now: Instant): Stored<Redelivered>
  /** Ends an open delivery. One that is being sent may still arrive, and counts as delivered only if that was recorded before. */
  cancel(projectId: string, deliveryId: string, now: Instant): Stored<WebhookDelivery | 'already_final' | undefined>
  get(projectId: string, deliveryId: string): Stored<DeliveryDetail | undefined>
  /** Newest first. */
  list(filter: DeliveryFilter, page: PageOf): Stored<Page<WebhookDelivery>>
  /** Cancels up to `limit` open deliveries whose webhook was deleted; answers how many. */
  cancelOrphans(query: { now: Instant; limit: number }): Stored<number>
}

/** An event to commit with the fact it reports. `claim`: its deliveries to enabled webhooks are born claimed by the caller. */
export type Outgoing = {
  readonly event: WebhookEvent
  readonly nextDeliveryId: () => string
  readonly claim?: { readonly until: Instant; readonly except: ReadonlySet<string> }
}

export type ClaimDue = {
  readonly now: Instant
  readonly until: Instant
  readonly limit: number
  readonly perWebhook: number
  readonly except: ReadonlySet<string>
}

/** All that an attempt needs. */
export type ClaimedDelivery = {
  readonly delivery: SendingDelivery
  readonly lease: Lease
  readonly webhook: Webhook
  readonly body: string
}

export type AttemptRecord = {
  readonly deliveryId: string
  readonly token: number
  readonly attempt: Omit<DeliveryAttempt, 'attemptNumber'>
  readonly state: AfterAttempt
}

export type DeliveryDetail = { readonly delivery: WebhookDelivery; readonly body: string; readonly attempts: readonly DeliveryAttempt[] }

export type DeliveryFilter = {
  readonly projectId: string
  readonly webhookId?: string
  readonly event?: EventName
  readonly status?: DeliveryStatus
  readonly createdAfter?: Instant
  readonly createdBefore?: Instant
}

export type RedeliverFilter = DeliveryFilter & { readonly deliveryId?: string }
export type Redelivered = { readonly count: number; readonly nextCursor: string | null }
