import type { ResultAsync } from 'neverthrow'
import type { Instant } from '../domain/instant.js'

/** The queue is full or the database away: the write may or may not have happened. */
export type Unavailable = { readonly kind: 'unavailable'; readonly reason: string }
export type Stored<T> = ResultAsync<T, Unavailable>

/** `nextCursor` is the id of the page's last row, or null on the last page. */
export type Page<T> = { readonly data: readonly T[]; readonly nextCursor: string | null }
/** `cursor` is a UUID: rows follow the one that has it, or its place if it is gone. */
export type PageOf = { readonly limit: number; readonly cursor?: string }

/** Up to `limit` of what became final before `finishedBefore`, the oldest first. */
export type Purge = { readonly finishedBefore: Instant; readonly limit: number }

/**
 * One step over all that a project has, for what was done on behalf of one end user: looks at up to `limit` rows behind the place `after`,
 * 0 at first, in the order in which they came. With `countOnly` it changes nothing.
 */
export type PrincipalStep = {
  readonly projectId: string
  readonly endUserId: string
  readonly countOnly: boolean
  readonly after: number
  readonly limit: number
  readonly now: Instant
}

/**
 * One step over the rows of all projects: looks at up to `limit` behind the place `after`, 0 at first. `reseal` gives a row with its secrets
 * sealed anew, itself when there is nothing to do, and undefined when they cannot be opened. Perhaps called more than once, so it has no effects.
 */
export type ResealStep<Row> = {
  readonly after: number
  readonly limit: number
  readonly reseal: (row: Row) => Row | undefined
}

/** Numbers of rows. With `next` there may be more from that place on. A store may look at so many rows a call as it likes, up to all. */
export type ResealedRows = {
  readonly resealed: number
  readonly unopened: number
  readonly next?: number
}

/** The time-bounded right to work on a row. The token is the row's claim count: a write under an older one is refused. */
export type Lease = { readonly token: number; readonly until: number }
