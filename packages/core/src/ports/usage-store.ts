import type { UsageCounts } from '../domain/usage.js'
import type { Stored } from './stored.js'

/** Reads the counts of projects. The other stores add a count in the commit that it counts. */
export interface UsageStore {
  /** Returns the days with counts from `fromDay` to `toDay`, both included, oldest first. */
  read(query: UsageQuery): Stored<UsageOfDay[]>
}

/** Days are counted since 1970 (UTC). */
export type UsageQuery = {
  readonly projectId: string
  readonly fromDay: number
  readonly toDay: number
}

export type UsageOfDay = { readonly day: number; readonly counts: UsageCounts }
