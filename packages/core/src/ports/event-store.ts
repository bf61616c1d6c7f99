import type { BucketLevel, TokenTake } from '../domain/access/send-limit.js'
import type { Instant } from '../domain/values/instant.js'
import type { PublishRequest, WebhookEvent } from '../domain/webhooks/event.js'
import type { ClaimedDeliveries, Outgoing } from './delivery-store.js'
import type { Audited, PrincipalStep, Stored } from './stored.js'

/**
 * The log of a project's events. The commit of an event adds it to the log, with or without a
 * delivery.
 *
 * Each event gets a position before a reader sees it. All readers in all processes see one order:
 * an event that commits after another one was read comes after that one. So a reader that continues
 * from its last position misses no event. A position is never used twice.
 */
export interface EventStore {
  /**
   * Commits the published events with their deliveries, all or none, as `decidePublish` says. Events
   * that are stored already stay as they are. Refuses what makes more deliveries than
   * `MOST_DELIVERIES`. Remembers the `request`, also if all of its events are stored already.
   */
  publish(publication: Publication): Stored<PublishOutcome>
  /** Returns an event of the log. */
  get(projectId: string, id: string): Stored<StoredEvent | undefined>
  /**
   * Erases up to `limit` published events of an agent or of one of its sessions, with their
   * deliveries and attempts, in any state. Returns their number.
   */
  eraseOf(step: SessionEvents): Stored<number>
  /**
   * Lists the first events after the position `after`, or the oldest events without it. Returns
   * `expired` if an event after that position was purged, if the position was never given out, or
   * if `isAnotherEvent` is true for `mark` and the event at that position.
   */
  list(query: EventsAfter): Stored<EventPage | 'expired'>
  /**
   * Lists events, the newest of the log first, without their bodies. `before`: only those below the
   * place. An event without a position yet is above all others.
   */
  newest(query: NewestEvents): Stored<ListedEvent[]>
  /** Returns the ids of those projects that have an event after the given position. */
  findNew(tails: readonly EventTail[]): Stored<string[]>
  /**
   * Returns the position of the newest event that was created before the instant. Without one, the
   * position before the oldest event.
   */
  positionAt(query: EventsBefore): Stored<number>
  /**
   * Leases the listener to `owner` until `until`, if no other owner holds it past `now`. Stores
   * `cursor` if `owner` had the listener, or if it is the first one. Returns the stored cursor, or
   * `held`. Without a `cursor`, returns `new` for the first one, and leases nothing.
   */
  listen(step: ListenStep): Stored<{ readonly cursor: string } | 'held' | 'new'>
  /**
   * Deletes events without deliveries, the oldest first, and requests that were remembered. Returns
   * the number of rows. An event with deliveries goes with the last of them, in
   * `DeliveryStore.purge`.
   */
  purge(purge: EventPurge): Stored<number>
  /**
   * Deletes events without deliveries on behalf of an end user. No position expires. With `next`
   * there can be more after that position.
   */
  erasePrincipal(step: PrincipalStep): Stored<ErasedEvents>
}

export type EventTail = { readonly projectId: string; readonly after: number }
export type EventsAfter = {
  readonly projectId: string
  readonly after?: number | undefined
  readonly mark?: string | undefined
  readonly limit: number
}

export type NewestEvents = {
  readonly projectId: string
  readonly before?: string | undefined
  readonly limit: number
}
/** `place` is a position of the log, or the number of the row before it has one. */
export type ListedEvent = Omit<StoredEvent, 'body'> & {
  readonly hasDeliveries: boolean
  readonly place: string
}

export type EventsBefore = { readonly projectId: string; readonly createdBefore: Instant }

/** `name` is that of a listener of the project's log. */
export type ListenStep = {
  readonly projectId: string
  readonly name: string
  readonly owner: string
  readonly now: Instant
  readonly until: Instant
  readonly cursor: string | undefined
}

/** The events of one request, each with `published`. */
export type Publication = {
  readonly projectId: string
  readonly outgoing: Outgoing
  readonly request?: PublishRequest | undefined
  /** Each new event takes these tokens in its commit, or the request is refused as `rate_limited`. */
  readonly takes?: readonly TokenTake[]
  /** The key that publishes, if it was read earlier. Nothing is stored if it is revoked now. */
  readonly apiKeyId?: string
}

/**
 * `published`: `events` were new, and are counted as `countOfPublish` says. `mismatch`: other events
 * have these ids, or, without ids, another request had the key. `agent_not_found`: the agents of these
 * new events do not exist. `fits`: of the events, so many make few enough deliveries.
 */
export type PublishOutcome =
  | ({
      readonly kind: 'published'
      readonly events: number
      readonly levels?: readonly BucketLevel[] | undefined
    } & ClaimedDeliveries)
  | { readonly kind: 'rate_limited'; readonly levels: readonly BucketLevel[] }
  | { readonly kind: 'replayed' | 'key_revoked' }
  | { readonly kind: 'mismatch' | 'agent_not_found'; readonly ids: readonly string[] }
  | { readonly kind: 'too_many_deliveries'; readonly fits: number }

export type StoredEvent = Pick<WebhookEvent, 'id' | 'name' | 'body' | 'createdAt'>

export type SessionEvents = Audited & {
  readonly projectId: string
  readonly agentId: string
  /** Absent: of all sessions. */
  readonly sessionId?: string
  readonly limit: number
  readonly now: Instant
}

export type LoggedEvent = {
  readonly position: number
  readonly id: string
  readonly name: string
  readonly body: string
}

/** `next` is the position from which a reader continues. */
export type EventPage = { readonly events: readonly LoggedEvent[]; readonly next: number }

/** Selects up to `limit` events that were created before `createdBefore`. */
export type EventPurge = {
  readonly createdBefore: Instant
  /** Requests, and events whose ids are remembered, stay until then. Not after `createdBefore`. */
  readonly idsBefore?: Instant
  readonly limit: number
}

/** `events` were erased, or would be with `countOnly`. */
export type ErasedEvents = { readonly events: number; readonly next?: number | undefined }
