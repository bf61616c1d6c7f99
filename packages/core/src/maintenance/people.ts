import { ok, safeTry } from 'neverthrow'
import { DAY_MS, startOf, type PeopleOfDay } from '../domain/operations/counts.js'
import type { Instant } from '../domain/values/instant.js'
import { reportUnavailable } from '../pacing/report-unavailable.js'
import type { PeoplePlace, PeopleQuery } from '../ports/counts-store.js'
import type { Platform } from '../platform.js'
import { chain, type Chained } from '../pacing/chain.js'

/** A commit with messages of a day can be that late. */
const LATE_MS = 300_000
/** People that one statement reads: 3 ms of SQLite's time. */
const PAGE = 1_000

type Needed = Pick<Platform, 'storage' | 'clock' | 'stopping'>

/** If `isExact` is false, the day has more people. */
type CountedPeople = PeopleOfDay & { readonly isExact: boolean }

/** Counts people of a day, until there are `most` or the service stops. */
export const countPeople = (
  { storage, clock, stopping }: Needed,
  of: Pick<PeopleQuery, 'projectId' | 'agentId' | 'day'>,
  most = Infinity,
): Chained<CountedPeople> =>
  safeTry(async function* () {
    let people = 0
    const ofAgents: Record<string, number> = {}
    let after: string | undefined
    do {
      const page = yield* chain(storage.counts.people({ ...of, after, limit: PAGE }))
      people += page.people
      for (const [id, count] of Object.entries(page.ofAgents))
        ofAgents[id] = (ofAgents[id] ?? 0) + count
      after = page.next
      if (after !== undefined) await clock.sleep(0)
    } while (after !== undefined && people < most && !stopping.aborted)
    return ok({ people, ofAgents, isExact: after === undefined })
  })

/** The people of the days before `until` are counted. */
type CountedDays = { readonly until: Instant; readonly hasMore: boolean }

/** Counts and stores the people of the next project of the first day (UTC) that is not counted. */
const countNext = (d: Needed): Chained<CountedDays> =>
  safeTry(async function* () {
    const { counts, credentials } = d.storage
    const from = yield* chain(counts.peoplePlace())
    const { until } = from
    const today = startOf(d.clock.now() - LATE_MS, DAY_MS)
    if (until === today) return ok({ until, hasMore: false })
    const move = (to: PeoplePlace, people?: PeopleOfDay) =>
      chain(counts.movePeople({ from, to, people })).map((hasMore) => ({ until, hasMore }))
    // At first, or after the clock was set back. The next days are then counted again.
    if (until === 0 || until > today) return move({ until: today, after: '' })
    const [project] = (yield* chain(credentials.listProjects({ limit: 1, cursor: from.after })))
      .data
    if (!project) return move({ until: until + DAY_MS, after: '' })
    const people = yield* countPeople(d, { projectId: project.id, day: until })
    return people.isExact
      ? move({ until, after: project.id }, people)
      : ok({ until, hasMore: false })
  })

const MOST_STEPS = 100

/**
 * Does a few steps. Messages before `until` can be purged. Messages that are kept for less than a day
 * are gone before their people can be counted.
 */
export async function countDays(
  d: Needed & Pick<Platform, 'telemetry' | 'policy'>,
): Promise<CountedDays> {
  let counted = { until: Infinity, hasMore: d.policy.retention.messagesMs >= DAY_MS }
  for (let n = 1; n <= MOST_STEPS && counted.hasMore; n++) {
    const next = await countNext(d)
    if (next.isErr()) reportUnavailable(d, next.error)
    counted = next.unwrapOr({ until: -Infinity, hasMore: false })
  }
  return counted
}
