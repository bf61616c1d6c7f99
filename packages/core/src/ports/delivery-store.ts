import type { AuditEntry } from '../domain/access/audit.js'
import type { OpenDeliveries } from '../domain/operations/backlog.js'
import type {
  AfterAttempt,
  DeliveryAttempt,
  LastFailure,
  OperatorReason,
  SendingDelivery,
  WebhookDelivery,
} from '../domain/webhooks/delivery.js'
import type { WebhookEvent } from '../domain/webhooks/event.js'
import type { Instant } from '../domain/values/instant.js'
import type { RecoverySettings } from '../domain/webhooks/recovery.js'
import type { LeaseTerms } from '../domain/webhooks/sending.js'
import type { TraceContext } from '../domain/messages/trace.js'
import type { Webhook, WebhookChange } from '../domain/webhooks/webhook.js'
import type { Count } from '../domain/operations/counts.js'
import type { Lease, Page, PageOf, PrincipalStep, Purge, Stored } from './stored.js'

/**
 * Deliveries and their attempts. The commit of an event creates its deliveries, one per subscribed
 * webhook.
 *
 * If `orderKeyOf` gives a delivery an order key, and an open delivery has the same key, the new one
 * is born waiting: no claim takes it. The commit that ends a delivery in any way, or erases it,
 * makes the next one with its key due. So of all open deliveries with one key, in the order of
 * their commits, the first does not wait and all others do.
 */
export interface DeliveryStore {
  /**
   * Claims due deliveries of enabled webhooks: at most `limit` in all, `perWebhook` of each
   * webhook or fewer if `rooms` has a lower number for its id, `perProject` of each project, and
   * `retries` with an earlier attempt. Takes the oldest due delivery of a webhook first, and
   * continues with the next webhooks at the next call, so no backlog delays another webhook. Skips
   * the webhooks and projects in `except`, paused webhooks and webhooks with an open circuit.
   * Takes one delivery of
   * a webhook with a half-open circuit: the oldest due one with an earlier attempt, or else the
   * oldest due one. Moves the circuit's time to the end of that claim: one process probes at a
   * time. The claimed webhook shows this. Returns as `skipped` the webhooks whose `rooms` it filled.
   *
   * The hooks of one project and origin count as one webhook here, with the id `receiverIdOf` and one
   * health. Each of them shows that health when it is read or claimed.
   */
  claimDue(query: ClaimDue): Stored<ClaimedDeliveries>
  /**
   * Registers a process that sends, until `until`, and forgets the processes whose time is over.
   * With `until` at `now`, the process leaves. Returns the ids of all registered processes, sorted.
   */
  registerSender(sender: SenderLease): Stored<string[]>
  /**
   * Numbers and stores attempts of different deliveries, and moves each delivery to `state`. Each
   * attempt and all that it changes are one commit, or share the commit of others. Returns the
   * results in the order of the records. If it fails, some attempts can be stored.
   *
   * Refuses an outdated token, except for an accepted attempt of an open delivery: the receiver has
   * it. The commit has the events in `outgoing`, and changes the webhook as `decideHealth` says,
   * with the events of that change. A store can write the time of a webhook's last success outside
   * of the commit. A deleted webhook stays as it is.
   */
  recordAttempts(records: readonly AttemptRecord[]): Stored<RecordedAttempt[]>
  /**
   * Releases the claims that still hold. Their deliveries are due now, at the same step of their
   * schedule, and a circuit that a released probe held open is half-open. Returns their number. A
   * row that another writer has locked can stay until its lease ends.
   */
  release(claims: readonly ReleasedClaim[], now: Instant): Stored<number>
  /**
   * Commits the event with one delivery to this webhook, subscribed or not. The delivery is born
   * claimed if `newTestClaim` says so. It is then the probe of an open circuit, which it holds to
   * the end of the claim. Otherwise it is due now, and an open circuit becomes half-open. Returns
   * undefined if the webhook does not belong to the event's project.
   */
  publishTo(
    webhookId: string,
    event: WebhookEvent,
    deliveryId: string,
    claim?: Outgoing['claim'],
  ): Stored<Published | undefined>
  /**
   * Makes matching deliveries of existing webhooks due now, as `decideRedelivery` says, newest
   * first. Looks at `page.limit` deliveries at most. With `nextCursor`, as in `list`, the caller
   * continues. Open circuits of the webhooks of these deliveries become half-open. A delivery that
   * does not keep its order (`keepsOrder`) loses its order key. A waiting delivery is changed only
   * if the filter has its `deliveryId`.
   */
  redeliver(
    filter: RedeliverFilter,
    page: PageOf,
    now: Instant,
    audit?: AuditEntry,
  ): Stored<Redelivered>
  /**
   * Ends an open delivery. A running attempt can still arrive, and counts only if it was recorded
   * before. A circuit that this delivery holds open, as its probe, is half-open. The reason is
   * `operator` if none is given.
   */
  cancel(
    projectId: string,
    deliveryId: string,
    now: Instant,
    audit?: AuditEntry,
    reason?: OperatorReason,
  ): Stored<WebhookDelivery | 'already_final' | undefined>
  get(projectId: string, deliveryId: string): Stored<DeliveryDetail | undefined>
  /**
   * Lists deliveries, newest first. A page can have fewer rows than its limit, or none, and still
   * a `nextCursor`, because a store can limit the rows that it looks at.
   */
  list(filter: RedeliverFilter, page: PageOf): Stored<Page<WebhookDelivery>>
  /** Returns the newest deliveries of each message's events, at most `limit` per message. */
  ofMessages(query: DeliveriesOfMessages): Stored<MessageDelivery[]>
  /**
   * Returns the newest stored attempt of each webhook that was not accepted. Leaves out webhooks
   * without one, deleted webhooks, and webhooks of other projects.
   */
  lastFailures(projectId: string, webhookIds: readonly string[]): Stored<LastFailure[]>
  /**
   * Counts the open deliveries of each webhook, up to `most`. Leaves out webhooks of other projects.
   */
  countOpen(
    projectId: string,
    webhookIds: readonly string[],
    most: number,
  ): Stored<ReadonlyMap<string, number>>
  /** Cancels up to `limit` open deliveries of deleted webhooks. Returns their number. */
  cancelOrphans(query: { now: Instant; limit: number }): Stored<number>
  /**
   * Cancels due deliveries of disabled webhooks: those due before `dueBefore`, and all but `keep`
   * of each webhook. Deliveries with an attempt go first, then the longest due, up to `limit` in
   * all. Returns their number. A waiting delivery counts as due since its creation, and goes last.
   */
  cancelStale(query: CancelStale): Stored<number>
  /**
   * Deletes final deliveries with their attempts. Deletes an event with its last delivery if the
   * event was created before `eventsBefore`. Returns the number of deliveries.
   */
  purge(purge: DeliveryPurge): Stored<number>
  /**
   * Deletes the deliveries of events on behalf of an end user, in any state, with their attempts
   * and events. A running attempt can still arrive. A circuit that such a delivery holds open, as
   * its probe, is half-open. With `next` there can be more after that position.
   */
  erasePrincipal(step: PrincipalStep): Stored<ErasedDeliveries>
  /**
   * Counts open deliveries of the project, by default of all projects, as `openDeliveries` says.
   * `limited` are the webhooks that are at their limit in this process.
   */
  backlog(now: Instant, limited?: ReadonlySet<string>, projectId?: string): Stored<DeliveryBacklog>
  /** The backlogs of projects by their ids. Can leave out a project of which all is 0. */
  backlogs(
    now: Instant,
    limited?: ReadonlySet<string>,
  ): Stored<ReadonlyMap<string, DeliveryBacklog>>
}

/**
 * Events to commit, in this order, with the change that they report. With `claim`, their
 * deliveries to enabled webhooks with a closed circuit are born claimed, except for webhooks and
 * projects in `except`, which are returned as `skipped`. The webhook `notTo` gets no delivery.
 */
export type Outgoing = {
  readonly events: readonly WebhookEvent[]
  readonly nextDeliveryId: () => string
  readonly notTo?: string
  readonly claim?: (LeaseTerms & { readonly except: ReadonlySet<string> }) | undefined
}

export type Published = { readonly delivery: WebhookDelivery; readonly claims: ClaimedDeliveries }

/** Without `eventsBefore`, the age of an event does not matter. */
export type DeliveryPurge = Purge & {
  readonly eventsBefore?: Instant
  /** As in `EventPurge`. */
  readonly idsBefore?: Instant
}

/** The leases end at `leaseEnd` of their webhooks. */
export type ClaimDue = LeaseTerms & {
  readonly now: Instant
  readonly limit: number
  readonly perWebhook: number
  readonly perProject: number
  readonly retries: number
  readonly rooms: Pick<ReadonlyMap<string, number>, 'get'>
  readonly except: ReadonlySet<string>
}

/** A process that sends counts as alive until `until`. */
export type SenderLease = { readonly id: string; readonly now: Instant; readonly until: Instant }

/** `skipped`: ids of webhooks and projects without more room, of which more can be due. */
export type ClaimedDeliveries = {
  readonly deliveries: readonly ClaimedDelivery[]
  readonly skipped: readonly string[]
}

/** Everything that an attempt needs. */
export type ClaimedDelivery = {
  readonly delivery: SendingDelivery
  readonly lease: Lease
  readonly webhook: Webhook
  readonly body: string
  /** The event's trace context. */
  readonly trace?: TraceContext | undefined
}

/** The right to send a delivery, from its claim. */
export type HeldDelivery = { readonly deliveryId: string; readonly token: number }

/** `isProbe`: at the claim the webhook's circuit was open, and this claim holds it open. */
export type ReleasedClaim = HeldDelivery & { readonly isProbe: boolean }

export type AttemptRecord = HeldDelivery & {
  readonly attempt: Omit<DeliveryAttempt, 'attemptNumber'>
  readonly state: AfterAttempt
  /**
   * Called with the webhook in the state of that commit, possibly more than once, so it has no
   * effects. If absent, the webhook stays as it is.
   */
  readonly decideHealth?: ((webhook: Webhook) => WebhookUpdate | undefined) | undefined
  /**
   * The receiver that `decideHealth` is about, as `receiverIdOf` says. One process's decisions for a
   * receiver apply in the order of its calls.
   */
  readonly receiverId?: string
  /** Events of the delivery's new state. Their deliveries are born due, not claimed. */
  readonly outgoing?: Omit<Outgoing, 'claim'> | undefined
  /** Appended in the same commit, as the next one. */
  readonly count?: Count
  readonly endCount?: Count
}

/**
 * A change of the webhook by an attempt, with its events. Their deliveries are born due, not
 * claimed.
 */
export type WebhookUpdate = {
  readonly change: WebhookChange
  readonly outgoing?: Omit<Outgoing, 'claim'> | undefined
}
/**
 * `webhook`: before and after the change, if there was one. `nextIsDue`: the attempt ended the
 * delivery, and the next one with its order key is due now.
 */
export type RecordedAttempt =
  | {
      readonly kind: 'recorded'
      readonly nextIsDue?: true
      readonly webhook?: { readonly before: Webhook; readonly after: Webhook }
    }
  | { readonly kind: 'lease_lost' }

export type CancelStale = {
  readonly now: Instant
  readonly dueBefore: Instant
  readonly keep: number
  readonly limit: number
}

/** `deliveries` were erased, or would be with `countOnly`. */
export type ErasedDeliveries = { readonly deliveries: number; readonly next?: number | undefined }

/** Counts of deliveries, and of webhooks that are not deleted. */
export type DeliveryBacklog = OpenDeliveries & {
  readonly disabledWebhooks: number
  readonly openCircuits: number
  readonly halfOpenCircuits: number
}

export type DeliveryDetail = {
  readonly delivery: WebhookDelivery
  readonly body: string
  readonly attempts: readonly DeliveryAttempt[]
}

export type DeliveryFilter = RecoverySettings & {
  readonly projectId: string
  readonly eventId?: string
  /** The message or the session that caused the event. */
  readonly messageId?: string
  readonly sessionId?: string
  /** True leaves out the deliveries of hooks. */
  readonly withoutHooks?: boolean | undefined
}

export type DeliveriesOfMessages = {
  readonly projectId: string
  readonly messageIds: readonly string[]
  readonly limit: number
}
export type MessageDelivery = { readonly messageId: string; readonly delivery: WebhookDelivery }

export type RedeliverFilter = DeliveryFilter & { readonly deliveryId?: string }
/** `matched` deliveries were found, and `count` of them are due now. */
export type Redelivered = {
  readonly matched: number
  readonly count: number
  readonly nextCursor: string | null
}
