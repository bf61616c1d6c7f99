import type {
  AfterAttempt,
  DeliveryAttempt,
  DeliveryStatus,
  SendingDelivery,
  WebhookDelivery,
} from '../domain/delivery.js'
import type { EventName, WebhookEvent } from '../domain/event.js'
import type { Instant } from '../domain/instant.js'
import type { TraceContext } from '../domain/trace.js'
import type { Webhook, WebhookChange } from '../domain/webhook.js'
import type { ActivityQuery, AttemptCount } from './activity.js'
import type { Lease, Page, PageOf, PrincipalStep, Purge, Stored } from './stored.js'

/** Deliveries and their attempts. A fact's deliveries are born in the commit of the fact, one per subscribed webhook. */
export interface DeliveryStore {
  /**
   * Claims due deliveries of enabled webhooks: at most `perWebhook` of each, `perProject` of each project's, and `limit` in
   * all, of them at most `retries` that were attempted before. Oldest due first within a webhook, going round the webhooks
   * from call to call, so that no backlog delays another's. Skips the webhooks and the projects whose ids are in `except`,
   * and webhooks whose circuit is open. Of a half-open one it takes one delivery and holds the circuit open to the end of
   * that claim, so that one process probes at a time; the claimed webhook shows this.
   */
  claimDue(query: ClaimDue): Stored<ClaimedDelivery[]>
  /**
   * Numbers and keeps the attempt and moves the delivery to `state`, or neither. A superseded token is refused, but for an
   * accepted attempt of a delivery that is not final: what a receiver took is delivered, however late we learn it.
   * In the same commit goes what `decideHealth` makes of the webhook, with its event. A deleted webhook is not judged.
   */
  recordAttempt(record: AttemptRecord): Stored<RecordedAttempt>
  /**
   * Gives these claims up, as far as they still hold: their deliveries are due now, at the same place in their schedule, and a circuit that
   * its probe still holds open is half-open. Answers how many; what somebody else is writing at this moment may be left to its lease.
   */
  release(claims: readonly ReleasedClaim[], now: Instant): Stored<number>
  /**
   * Commits the event with one delivery, due now, to this webhook, subscribed or not; an open circuit becomes half-open.
   * Undefined when the webhook is not of the event's project.
   */
  publishTo(
    webhookId: string,
    event: WebhookEvent,
    deliveryId: string,
  ): Stored<WebhookDelivery | undefined>
  /**
   * Makes matching deliveries of webhooks that still exist due now, as `decideRedelivery` says, newest first; looks at
   * `page.limit` of them at most. `count` is of those that it changed; with `nextCursor`, as in `list`, the caller goes on. The circuits of
   * the webhooks that it looked at, where open, become half-open.
   */
  redeliver(filter: RedeliverFilter, page: PageOf, now: Instant): Stored<Redelivered>
  /**
   * Ends an open delivery. One that is being sent may still arrive, and counts as delivered only if that was recorded before. A circuit that
   * it holds open, as its probe, is half-open.
   */
  cancel(
    projectId: string,
    deliveryId: string,
    now: Instant,
  ): Stored<WebhookDelivery | 'already_final' | undefined>
  get(projectId: string, deliveryId: string): Stored<DeliveryDetail | undefined>
  /** Newest first. A page may hold fewer than its limit, or none, and still have a `nextCursor`: a store may look at so many rows a call only. */
  list(filter: DeliveryFilter, page: PageOf): Stored<Page<WebhookDelivery>>
  /** Cancels up to `limit` open deliveries whose webhook was deleted; answers how many. */
  cancelOrphans(query: { now: Instant; limit: number }): Stored<number>
  /**
   * Cancels what waits too long, or is too much, for disabled webhooks: what was due before `dueBefore`, and of each one's due
   * deliveries all but `keep`. Those that were attempted go first, then the longest due; up to `limit` in all. Answers how many.
   */
  cancelStale(query: CancelStale): Stored<number>
  /** Deletes final deliveries with their attempts, and with the last delivery of an event the event. Answers how many deliveries. */
  purge(purge: Purge): Stored<number>
  /**
   * Deletes the deliveries whose event says that it was on behalf of an end user, whatever their state, with their attempts and that event.
   * One that is being sent may still arrive; a circuit that it holds open, as its probe, is half-open. With `next` there may be more from that place on.
   */
  erasePrincipal(step: PrincipalStep): Stored<ErasedDeliveries>
  /** What is open at this moment, over all projects. */
  backlog(now: Instant): Stored<DeliveryBacklog>
  /** Attempts of late, in any order: those of the project's `newest` deliveries. */
  activity(query: ActivityQuery): Stored<AttemptCount[]>
}

/**
 * An event to commit with the fact it reports. `claim`: its deliveries to enabled webhooks whose circuit is closed are born
 * claimed by the caller, but for the webhooks and projects whose ids are in `except`. `notTo` gets none, subscribed or not.
 */
export type Outgoing = {
  readonly event: WebhookEvent
  readonly nextDeliveryId: () => string
  readonly notTo?: string
  readonly claim?: { readonly until: Instant; readonly except: Pick<ReadonlySet<string>, 'has'> }
}

export type ClaimDue = {
  readonly now: Instant
  readonly until: Instant
  readonly limit: number
  readonly perWebhook: number
  readonly perProject: number
  readonly retries: number
  readonly except: ReadonlySet<string>
}

/** All that an attempt needs. */
export type ClaimedDelivery = {
  readonly delivery: SendingDelivery
  readonly lease: Lease
  readonly webhook: Webhook
  readonly body: string
  /** Of the event. */
  readonly trace?: TraceContext
}

/** The right to send a delivery, as its claim gave it. */
export type HeldDelivery = { readonly deliveryId: string; readonly token: number }

/** `isProbe`: the claim showed its webhook with an open circuit, which it holds so to its end. */
export type ReleasedClaim = HeldDelivery & { readonly isProbe: boolean }

export type AttemptRecord = HeldDelivery & {
  readonly attempt: Omit<DeliveryAttempt, 'attemptNumber'>
  readonly state: AfterAttempt
  /** Called with the webhook as it is in that commit; perhaps more than once, so it has no effects. Absent: it stays as it is. */
  readonly decideHealth?: (webhook: Webhook) => WebhookUpdate | undefined
  /** Beside `decideHealth`: whose it is. What one instance is told of a webhook is judged in the order of the calls, so that results count as they came. */
  readonly webhookId?: string
}

/** What an attempt makes of its webhook. The deliveries of its event are born due, for it is rare. */
export type WebhookUpdate = {
  readonly change: WebhookChange
  readonly outgoing?: Omit<Outgoing, 'claim'>
}
/** `webhook`: before and after the verdict, if there was one. */
export type RecordedAttempt =
  | {
      readonly kind: 'recorded'
      readonly webhook?: { readonly before: Webhook; readonly after: Webhook }
    }
  | { readonly kind: 'lease_lost' }

export type CancelStale = {
  readonly now: Instant
  readonly dueBefore: Instant
  readonly keep: number
  readonly limit: number
}

/** They were erased, or would be. */
export type ErasedDeliveries = { readonly deliveries: number; readonly next?: number }

/** Numbers of deliveries, and of webhooks that are not deleted. */
export type DeliveryBacklog = {
  /** Neither delivered nor given up. */
  readonly open: number
  /** Of them, those that may be claimed now. `oldestDueAt`: since when the first of these may. */
  readonly due: number
  readonly oldestDueAt?: Instant
  /** Due, but their webhook is disabled or its circuit open. */
  readonly held: number
  readonly disabledWebhooks: number
  readonly openCircuits: number
  readonly halfOpenCircuits: number
}

export type DeliveryDetail = {
  readonly delivery: WebhookDelivery
  readonly body: string
  readonly attempts: readonly DeliveryAttempt[]
}

export type DeliveryFilter = {
  readonly projectId: string
  readonly webhookId?: string
  readonly event?: EventName
  readonly status?: DeliveryStatus
  readonly createdAfter?: Instant
  readonly createdBefore?: Instant
  /** What the last attempt was answered with; `none` when it reached nobody. */
  readonly lastAnswer?: ResponseClass
}

export type ResponseClass = '2xx' | '3xx' | '4xx' | '5xx' | 'none'

export type RedeliverFilter = DeliveryFilter & { readonly deliveryId?: string }
export type Redelivered = { readonly count: number; readonly nextCursor: string | null }
