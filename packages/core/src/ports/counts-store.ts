import type { CountRow } from '../domain/counts.js'
import type { Instant } from '../domain/instant.js'
import type { Stored } from './stored.js'

/** Reads the counts of projects. The other stores append a count in the commit that it counts. */
export interface CountsStore {
  /**
   * Returns the rows with counts whose step begins from `from` to `to`, both included, oldest
   * first, of the subject of that id, or of all. Exact: it has every count that is committed.
   */
  read(query: CountsQuery): Stored<CountRow[]>
  /**
   * Adds the oldest `limit` appended entries to the rows that `read` sums. Returns their number: 0
   * while another process does it.
   */
  fold(limit: number): Stored<number>
  /** Removes rows of a step that began before. */
  purge(purge: PurgeCounts): Stored<number>
}

export type CountsQuery = {
  readonly projectId: string
  readonly subject: CountRow['subject']
  readonly id?: string | undefined
  /** One of `COUNT_STEPS`. */
  readonly stepMs: number
  readonly from: Instant
  readonly to: Instant
}

export type PurgeCounts = {
  readonly stepMs: number
  readonly before: Instant
  readonly limit: number
}
