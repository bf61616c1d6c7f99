import { toIso, withIso, type Instant, type WithIso } from '../domain/values/instant.js'
import type { Failure, FailureExample, Failures } from '../operations/read-failures.js'
import { sumsOf, type ProjectStats, type StatsRow, type Sums } from '../operations/read-stats.js'

/** What a project used. Dates are days in UTC, such as `2030-01-31`. */
export type ShownUsage = {
  readonly from: string
  readonly to: string
  readonly total: Sums
  /** The days with counts, oldest first. */
  readonly days: readonly (Sums & { readonly date: string; readonly people: number | null })[]
} & Pick<ProjectStats, 'peopleToday'>

/** What happened, by step of time. Times are ISO 8601 in UTC. */
export type ShownStats = Omit<ProjectStats, 'from' | 'to' | 'rows'> & {
  readonly from: string
  /** The start of the last step. */
  readonly to: string
  /** The steps with counts, oldest first. */
  readonly rows: readonly (Omit<StatsRow, 'at'> & { readonly at: string })[]
}

/** The agents and webhooks that failed. Times are ISO 8601 in UTC. */
export type ShownFailures = {
  /** The start of the first step of the counts. */
  readonly from: string
  readonly recentFrom: string
  readonly failures: readonly (Omit<Failure, 'since' | 'countedFrom' | 'last'> & {
    readonly since?: string
    readonly countedFrom: string
    readonly last?: WithIso<FailureExample>
  })[]
}

export const shownFailures = ({ from, recentFrom, failures }: Failures): ShownFailures => ({
  from: toIso(from),
  recentFrom: toIso(recentFrom),
  failures: failures.map(({ since, countedFrom, last, ...failure }) => ({
    ...failure,
    ...(since !== undefined && { since: toIso(since) }),
    countedFrom: toIso(countedFrom),
    ...(last && { last: withIso(last) }),
  })),
})

export const shownUsage = ({ from, to, total, rows, ...today }: ProjectStats): ShownUsage => ({
  from: dateOf(from),
  to: dateOf(to),
  total: sumsOf(total),
  days: rows.map(({ at, people = null, id: _, ...counts }) => ({
    date: dateOf(at),
    ...sumsOf(counts),
    people,
  })),
  ...(today.peopleToday && { peopleToday: today.peopleToday }),
})

export const shownStats = ({ from, to, rows, ...counted }: ProjectStats): ShownStats => ({
  from: toIso(from),
  to: toIso(to),
  ...counted,
  rows: rows.map((row) => ({ ...row, at: toIso(row.at) })),
})

const dateOf = (instant: Instant): string => toIso(instant).slice(0, 10)
