import { ok, safeTry, type ResultAsync } from 'neverthrow'
import {
  addCounts,
  ATTEMPT_CLASSES,
  COUNT_NAMES,
  COUNT_STEPS,
  DAY_MS,
  RESPONSE_TIMES_MS,
  startOf,
  timeWithin,
  type AttemptClass,
  type CountName,
  type CountRow,
  type Counts,
} from '../domain/operations/counts.js'
import { invalid, type Invalid } from '../domain/values/input-rules.js'
import type { Instant } from '../domain/values/instant.js'
import { countPeople } from '../maintenance/people.js'
import type { Platform } from '../platform.js'
import type { Unavailable } from '../ports/stored.js'
import { chain } from '../pacing/chain.js'

/** The names of `COUNT_STEPS`. */
export const STATS_STEPS = { '5m': COUNT_STEPS[0], '1h': COUNT_STEPS[1], '1d': COUNT_STEPS[2] }
export type StatsStep = keyof typeof STATS_STEPS

/** `from` and `to` are in the first and the last step. */
export type ReadStatsInput = {
  readonly projectId: string
  /** The length of a step of time: 5 minutes, an hour or a day. */
  readonly step: StatsStep
  /** Default: the step that has 12 steps, or 30 days, before `to`. */
  readonly from?: Instant | undefined
  /** Default: now. */
  readonly to?: Instant | undefined
  /** Counts of each agent or webhook. Absent: of the project. */
  readonly by?: 'agent' | 'webhook' | undefined
  /** Only the agent or the webhook with this id. */
  readonly id?: string | undefined
}

/** Counts by their names. */
export type Sums = Readonly<Record<CountName, number>>

/**
 * All counts of a time. `byClass` counts attempts by their outcome. `byTime` counts answers by
 * the bucket of their response time. Half of the answers took up to `p50Ms`, and 95 % up to `p95Ms`,
 * in milliseconds. These are ends of buckets: null without answers, and in the last bucket.
 */
export type AllCounts = Sums & {
  readonly byClass: Readonly<Record<AttemptClass, number>>
  readonly byTime: readonly number[]
  readonly p50Ms: number | null
  readonly p95Ms: number | null
}

/** The counts of the step that begins at `at`. */
export type StatsRow = AllCounts & {
  readonly at: Instant
  /** The agent or the webhook. Empty for hooks of messages. */
  readonly id?: string
  /**
   * The end users of the messages of a day, of the project or an agent. Null: not counted yet, or
   * the messages were kept for less than a day.
   */
  readonly people?: number | null
}

/** If `isExact` is false, there are more people than `count`. */
export type PeopleCount = { readonly count: number; readonly isExact: boolean }

/** `rows` are the steps with counts, oldest first. */
export type ProjectStats = {
  readonly from: Instant
  readonly to: Instant
  readonly stepMs: number
  readonly total: AllCounts
  /** The sums of each agent or webhook of `by`. */
  readonly totals?: readonly (AllCounts & { readonly id: string })[]
  readonly rows: readonly StatsRow[]
  /** Of a project or one agent by day, if today is among the days: its people so far, read now. */
  readonly peopleToday?: PeopleCount
}

const MOST_STEPS = 600
/** Of 100 webhooks, the hours of a week are 16,800 rows. */
const MOST_ROWS = 30_000
/** People of today that are counted, about. */
const MOST_PEOPLE = 10_000

export const readStats =
  (d: Pick<Platform, 'clock' | 'stopping' | 'storage'>) =>
  ({
    projectId,
    step,
    from,
    to,
    by,
    id,
  }: ReadStatsInput): ResultAsync<ProjectStats, Invalid | Unavailable> =>
    safeTry(async function* () {
      const { ms: stepMs, keptMs } = STATS_STEPS[step]
      const now = d.clock.now()
      const last = startOf(to ?? now, stepMs)
      const first =
        from === undefined ? last - (DEFAULT_STEPS[step] - 1) * stepMs : startOf(from, stepMs)
      if (id !== undefined && by === undefined) return invalid('id', 'needs by')
      if (first > last) return invalid('from', 'must not be after to')
      if (last - first >= MOST_STEPS * stepMs)
        return invalid('from', `must be less than ${MOST_STEPS} steps before to`)
      if (first < startOf(now - keptMs, stepMs))
        return invalid('from', `must be within ${KEPT[step]}, as long as steps of ${step} are kept`)
      const subject = by ?? 'project'
      const rows = yield* chain(
        d.storage.counts.read({
          projectId,
          subject,
          id,
          stepMs,
          from: first,
          to: last,
          limit: MOST_ROWS,
        }),
      )
      if (rows.length >= MOST_ROWS)
        return invalid('from', `has ${MOST_ROWS} rows or more. Ask for fewer steps, or for one id`)
      const stats = {
        from: first,
        to: last,
        stepMs,
        total: totalOf(rows),
        ...(by && {
          totals: [...Map.groupBy(rows, (row) => row.id)].map(([id, own]) => ({
            id,
            ...totalOf(own),
          })),
        }),
        rows: rows.map(statsRow),
      }
      const today = startOf(now, DAY_MS)
      const hasPeople = by === undefined || (by === 'agent' && id !== undefined)
      if (!hasPeople || step !== '1d' || today < first || today > last) return ok(stats)
      const of = { projectId, agentId: id, day: today }
      const { people: count, isExact } = yield* countPeople(d, of, MOST_PEOPLE)
      return ok({ ...stats, peopleToday: { count, isExact } })
    })

const DEFAULT_STEPS = { '5m': 12, '1h': 24, '1d': 30 } as const
const KEPT = { '5m': '48 hours', '1h': '90 days', '1d': 'all time' } as const

const statsRow = ({ at, subject, id, stepMs, counts }: CountRow): StatsRow => ({
  at,
  ...(subject !== 'project' && { id }),
  ...(subject !== 'webhook' && stepMs === DAY_MS && { people: counts.people ?? null }),
  ...allCounts(counts),
})

export const totalOf = (rows: readonly CountRow[]): AllCounts =>
  allCounts(rows.reduce<Counts>((sum, { counts }) => addCounts(sum, counts), {}))

const record = <K extends string>(names: readonly K[], of: (name: K) => number) =>
  Object.fromEntries(names.map((name) => [name, of(name)])) as Record<K, number>

function allCounts(counts: Counts): AllCounts {
  const byTime = [...RESPONSE_TIMES_MS, Infinity].map((_, at) => counts[`time:${at}`] ?? 0)
  return {
    ...record(COUNT_NAMES, (name) => counts[name] ?? 0),
    byClass: record(ATTEMPT_CLASSES, (name) => counts[`class:${name}`] ?? 0),
    byTime,
    p50Ms: timeWithin(0.5, byTime),
    p95Ms: timeWithin(0.95, byTime),
  }
}

/** Returns the counts without those of classes and of times. */
export const sumsOf = ({
  byClass: _,
  byTime: __,
  p50Ms: ___,
  p95Ms: ____,
  ...sums
}: AllCounts): Sums => sums
