import type { AuditEntry } from '../domain/access/audit.js'
import type { Instant } from '../domain/values/instant.js'
import type { PortResult } from './port-result.js'

/**
 * The storage did not confirm the call: its queue is full, or the database is away. A write can
 * have happened.
 */
export type Unavailable = {
  readonly kind: 'unavailable'
  readonly reason: string
  /** When to try again. Default: in a second. */
  readonly retryInMs?: number
}
/** The reason if a call is refused because more calls arrive than the service can do. */
export const OVERLOAD = 'overload'
/** The reason if the storage has had a message for seconds and has not confirmed it. */
export const UNCONFIRMED = 'unconfirmed'

/** The reason of each call after `close` of the storage. */
export const CLOSED = 'the storage is closed'

/** An AbortSignal, or less. It is polled: a listener per request would cost more. */
export type Caller = { readonly aborted: boolean }
/** Ends a read whose caller has left. */
export const CALLER_LEFT: Unavailable = { kind: 'unavailable', reason: 'the caller has left' }

/** The seconds of a `Retry-After`. */
export const retrySecondsOf = ({ retryInMs = 0 }: Unavailable): number =>
  Math.max(1, Math.ceil(retryInMs / 1_000))

/** The answer of a store. It never rejects. */
export type Stored<T> = Promise<PortResult<T, Unavailable>>

/**
 * `nextCursor` is the id of the page's last row, or null on the last page. A search that can go on
 * has looked at rows back to `lookedBackTo`.
 */
export type Page<T> = {
  readonly data: readonly T[]
  readonly nextCursor: string | null
  readonly lookedBackTo?: Instant
}
/**
 * `cursor` is a UUID. The page starts after the row with that id, or after its place if the row is
 * gone.
 */
export type PageOf = { readonly limit: number; readonly cursor?: string | undefined }

/** The entry of the audit log, stored in the commit of the change, if there is a change. */
export type Audited = { readonly audit?: AuditEntry | undefined }

/** Selects up to `limit` rows that became final before `finishedBefore`, oldest first. */
export type Purge = { readonly finishedBefore: Instant; readonly limit: number }

/**
 * One step over a project's rows that belong to an end user. Looks at up to `limit` rows after the
 * position `after`, which is 0 at first, in the order of their creation. With `countOnly` it
 * changes nothing.
 */
export type PrincipalStep = Audited & {
  readonly projectId: string
  readonly endUserId: string
  readonly countOnly: boolean
  readonly after: number
  readonly limit: number
  readonly now: Instant
}

/**
 * One step over the rows of all projects. Looks at up to `limit` rows after the position `after`,
 * which is 0 at first. `reseal` returns the row with resealed secrets, the same row if there is
 * nothing to do, or undefined if a secret cannot be opened. A store can call `reseal` more than
 * once, so it has no effects.
 */
export type ResealStep<Row> = {
  readonly after: number
  readonly limit: number
  readonly reseal: (row: Row) => Row | undefined
}

/**
 * Counts of rows. With `next` there can be more rows after that position. A store can look at any
 * number of rows per call.
 */
export type ResealedRows = {
  readonly resealed: number
  readonly unopened: number
  readonly next?: number | undefined
}

/**
 * A time-bounded right to work on a row. The token is the row's claim count: a store refuses a
 * write with an older token.
 */
export type Lease = { readonly token: number; readonly until: number }
