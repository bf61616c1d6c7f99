import {
  rowsOfCounts,
  rowsOfPeople,
  sumOfCounts,
  COUNT_STEPS,
  DAY_MS,
  withPeople,
  type Count,
  type CountRow,
  type CountsQuery,
  type CountsStore,
  type PeoplePlace,
  type PeopleQuery,
  type PurgeCounts,
} from '@org/agent-messaging-core/storage'
import { atMost, type Dialect } from './dialect.js'
import { all, one, run, sql, type Operation, type Runner } from './operation.js'

// A commit appends one entry with all its counts, so no commit waits for a row of counts. One
// process at a time folds the entries into rows.

type Entry = { readonly counts: string }
type Row = Omit<CountRow, 'counts'> & Entry

const KEY = {
  project_id: 'text',
  subject: 'text',
  step_ms: 'bigint',
  begins_at: 'bigint',
  subject_id: 'text',
}
const names = Object.keys(KEY).join(', ')
const select = ({ schema }: Dialect): string => `
  select c.project_id as "projectId", c.subject, c.subject_id as id, c.step_ms as "stepMs", c.begins_at as "at",
    c.counts from ${schema}counts c`

const append = sql<Entry>(
  ({ schema }) => `insert into ${schema}count_entries (counts) values (@counts)`,
)
const selectPlace = ({ schema }: Dialect): string =>
  `select people_until as "until", people_after as "after" from ${schema}counting`
const place = sql<object, PeoplePlace>(selectPlace)
/** The lock ends with the commit. */
const lock = sql<object, PeoplePlace>((d) => `${selectPlace(d)} ${d.lock('update skip locked')}`)
const move = sql<PeoplePlace>(
  ({ schema }) => `update ${schema}counting set people_until = @until, people_after = @after`,
)
const oldest = sql<{ readonly limit: number }, { readonly seq: number; readonly bytes: number }>(
  ({ schema }) => `
    select seq, octet_length(counts) as bytes from ${schema}count_entries
    order by seq ${atMost('@limit')}`,
)
const take = sql<{ readonly last: number }, Entry>(
  ({ schema }) => `delete from ${schema}count_entries where seq <= @last returning counts`,
)
/**
 * Looks each key up by itself. PostgreSQL would join thousands of keys with all counts of a step.
 * `counts` is null if there is no row.
 */
const known = sql<
  { readonly keys: string },
  Omit<Row, 'counts'> & { readonly counts: string | null }
>(
  (d) => `
    select k.project_id as "projectId", k.subject, k.subject_id as id, k.step_ms as "stepMs",
      k.begins_at as "at", (
        select c.counts from ${d.schema}counts c
        where c.project_id = k.project_id and c.subject = k.subject and c.step_ms = k.step_ms
          and c.begins_at = k.begins_at and c.subject_id = k.subject_id) as counts
    from ${d.records('keys', KEY)} k`,
)
const save = sql<{ readonly rows: string }>(
  (d) => `
    insert into ${d.schema}counts (${names}, counts)
    select ${names}, counts from ${d.records('rows', { ...KEY, counts: 'text' })} folded where true
    on conflict (${names}) do update set counts = excluded.counts`,
)
/** The entries are read in the same snapshot as the rows. */
const read = sql<
  Omit<Required<CountsQuery>, 'id'> & { readonly id: string | null },
  Entry & Partial<Row>
>(
  (d) => `
    select * from (${select(d)}
      where c.project_id = @projectId and c.subject = @subject and c.step_ms = @stepMs
        and c.begins_at >= @from and c.begins_at <= @to
        and (cast(@id as text) is null or c.subject_id = @id) ${atMost('@limit')}) folded
    union all select null, null, null, null, null, counts from ${d.schema}count_entries`,
)
const purge = sql<PurgeCounts>(
  (d) => `
    delete from ${d.schema}counts where ${d.among(
      'seq',
      `select seq from ${d.schema}counts where step_ms = @stepMs and begins_at < @before ${atMost('@limit')}`,
    )}`,
)

/**
 * Finds the next people of each agent by descents of an index, and skips their messages. The last
 * ones of agents that can have more end the page.
 */
export const peopleSql = sql<
  Pick<PeopleQuery, 'projectId' | 'limit'> & {
    readonly agentId: string | null
    readonly day: number
    readonly after: string
  },
  {
    readonly agentId: string
    readonly id: string
    readonly place: number
    readonly next: string | null
  }
>(
  ({ schema, endUser, hasEndUser }) => `
    with recursive owner (id) as (
      select id from ${schema}agents
      where project_id = @projectId and (cast(@agentId as text) is null or id = @agentId)),
    share (most) as (select 1 + cast(@limit / (1 + count(*)) as integer) from owner),
    person (agent_id, id, place) as (
      select id, cast(@after as text), 0 from owner
      union all
      select p.agent_id, (
        select ${endUser} from ${schema}messages m
        where m.agent_id = p.agent_id and m.created_at / ${DAY_MS} = @day and ${hasEndUser}
          and ${endUser} > p.id
        order by ${endUser} limit 1), p.place + 1
      from person p, share where p.id is not null and p.place < share.most),
    page (next) as (select min(p.id) from person p, share where p.place = share.most)
    select p.agent_id as "agentId", p.id, p.place, page.next from person p, page
    where p.id is not null and (page.next is null or p.id <= page.next)`,
)

const ALL_ROWS = 1_000_000_000
/** Of entries in a fold: 2 ms of SQLite's time, 12 ms if each count is of another webhook. */
const MOST_BYTES = 100_000
const STEPS = COUNT_STEPS.map(({ ms }) => ms)

const parsed = (entries: readonly Entry[]): Count[] =>
  entries.flatMap(({ counts }) => JSON.parse(counts) as Count[])

const recordOf = ({ projectId, subject, id, stepMs, at, counts }: CountRow) => ({
  project_id: projectId,
  subject,
  subject_id: id,
  step_ms: stepMs,
  begins_at: at,
  counts: JSON.stringify(counts),
})

/** Appends a count in the transaction of what they count. */
export function* appendCounts(count: Count | undefined): Operation<void> {
  if (count) yield* run(append, { counts: JSON.stringify([count]) })
}

export const countsStore = ({ read: reads, write }: Runner): CountsStore => ({
  read: reads(function* ({ id = null, limit = ALL_ROWS, ...query }) {
    const found = yield* all(read, { ...query, id, limit })
    const rows = found.flatMap((row) => (row.subject ? rowOf(row as Row) : []))
    const isAsked = (row: CountRow) =>
      row.projectId === query.projectId &&
      row.subject === query.subject &&
      row.at >= query.from &&
      row.at <= query.to &&
      (id === null || row.id === id)
    const appended = rowsOfCounts(parsed(found.filter(({ subject }) => !subject)), [query.stepMs])
    return rowsOfCounts([...rows, ...appended.filter(isAsked)], []).sort((a, b) => a.at - b.at)
  }),
  fold: write(function* (limit) {
    const found = (yield* one(lock, {})) ? yield* all(oldest, { limit }) : []
    if (found.length === 0) return { folded: 0, hasMore: false }
    let bytes = 0
    const end = found.findIndex((entry) => (bytes += entry.bytes) > MOST_BYTES)
    const last = end < 0 ? found.at(-1) : found[Math.max(0, end - 1)]
    const entries = yield* all(take, { last: last?.seq ?? 0 })
    const added = rowsOfCounts(sumOfCounts(parsed(entries)), STEPS)
    const rows = rowsOfCounts([...(yield* storedRows(added)), ...added], [])
    yield* run(save, { rows: JSON.stringify(rows.map(recordOf)) })
    return { folded: entries.length, hasMore: end >= 0 || found.length === limit }
  }),
  purge: write((before) => run(purge, before)),
  people: reads(function* ({ day, after = '', agentId = null, ...query }) {
    const found = yield* all(peopleSql, { ...query, agentId, day: day / DAY_MS, after })
    const people = new Set<string>()
    const ofAgents: Record<string, number> = {}
    // The row at the place 0 has no person.
    for (const { agentId: of, id, place } of found) {
      ofAgents[of] = (ofAgents[of] ?? 0) + Number(place > 0)
      if (place > 0) people.add(id)
    }
    const next = found[0]?.next
    return { people: people.size, ofAgents, ...(next && { next }) }
  }),
  peoplePlace: reads(function* () {
    return (yield* one(place, {})) ?? { until: 0, after: '' }
  }),
  movePeople: write(function* ({ from, to, people }) {
    const found = yield* one(lock, {})
    if (found?.until !== from.until || found.after !== from.after) return false
    yield* run(move, to)
    if (people === undefined) return true
    const days = rowsOfPeople(to.after, from.until, people)
    const rows = withPeople(days, yield* storedRows(days))
    yield* run(save, { rows: JSON.stringify(rows.map(recordOf)) })
    return true
  }),
})

function* storedRows(rows: readonly CountRow[]): Operation<CountRow[]> {
  const found = yield* all(known, { keys: JSON.stringify(rows.map(recordOf)) })
  return found.flatMap(({ counts, ...key }) => (counts === null ? [] : rowOf({ ...key, counts })))
}

const rowOf = (row: Row): CountRow => ({
  ...row,
  counts: JSON.parse(row.counts) as CountRow['counts'],
})
