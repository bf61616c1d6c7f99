import type { CountRow, PeopleOfDay } from '../domain/operations/counts.js'
import type { Instant } from '../domain/values/instant.js'
import type { Stored } from './stored.js'

/** Reads the counts of projects. The other stores append a count in the commit that it counts. */
export interface CountsStore {
  /**
   * Returns the rows with counts whose step begins from `from` to `to`, both included, oldest
   * first, of the subject of that id, or of all. Exact: it has every count that is committed.
   */
  read(query: CountsQuery): Stored<CountRow[]>
  /**
   * Adds at most the oldest `limit` appended entries to the rows that `read` sums. Returns their
   * number: 0 while another process does it.
   */
  fold(limit: number): Stored<{ readonly folded: number; readonly hasMore: boolean }>
  /** Removes rows of a step that began before. */
  purge(purge: PurgeCounts): Stored<number>
  /**
   * Counts the end users of the messages of a day after the person `after`, in an order of the
   * store: of the project's agents together, and of each. Reads about `limit` people. `next` is set
   * if there can be more.
   */
  people(query: PeopleQuery): Stored<PeoplePage>
  /** Returns which days are counted. At first, `until` is 0. */
  peoplePlace(): Stored<PeoplePlace>
  /**
   * Moves the place. Stores the people of the project `to.after` on the day `from.until`, if they
   * are given, as `withPeople` says. Returns false and changes nothing if the place is not `from`,
   * or while another process folds.
   */
  movePeople(move: PeopleMove): Stored<boolean>
}

export type PeopleQuery = {
  readonly projectId: string
  /** Only people of this agent. */
  readonly agentId?: string | undefined
  /** The start of the day (UTC). */
  readonly day: Instant
  readonly after?: string | undefined
  readonly limit: number
}

export type PeoplePage = PeopleOfDay & { readonly next?: string }

/** The people of the days before `until` are counted, and of that day up to the project `after`. */
export type PeoplePlace = { readonly until: Instant; readonly after: string }

export type PeopleMove = {
  readonly from: PeoplePlace
  readonly to: PeoplePlace
  readonly people?: PeopleOfDay | undefined
}

export type CountsQuery = {
  readonly projectId: string
  readonly subject: CountRow['subject']
  readonly id?: string | undefined
  /** One of `COUNT_STEPS`. */
  readonly stepMs: number
  readonly from: Instant
  readonly to: Instant
  /** The most folded rows to read. If there are so many, others can be missing. Default: all. */
  readonly limit?: number
}

export type PurgeCounts = {
  readonly stepMs: number
  readonly before: Instant
  readonly limit: number
}
