import {
  rowsOfCounts,
  COUNT_STEPS,
  type Count,
  type CountRow,
  type CountsQuery,
  type CountsStore,
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
/** The lock ends with the commit. */
const lock = sql((d) => `select 1 from ${d.schema}counting ${d.lock('update skip locked')}`)
const take = sql<{ readonly limit: number }, Entry>(
  ({ schema, among }) => `
    delete from ${schema}count_entries where ${among(
      'seq',
      `select seq from ${schema}count_entries order by seq ${atMost('@limit')}`,
    )} returning counts`,
)
const known = sql<{ readonly keys: string }, Row>(
  (d) => `
    ${select(d)} join ${d.records('keys', KEY)} k on c.project_id = k.project_id
      and c.subject = k.subject and c.step_ms = k.step_ms and c.begins_at = k.begins_at
      and c.subject_id = k.subject_id`,
)
const save = sql<{ readonly rows: string }>(
  (d) => `
    insert into ${d.schema}counts (${names}, counts)
    select ${names}, counts from ${d.records('rows', { ...KEY, counts: 'text' })} where true
    on conflict (${names}) do update set counts = excluded.counts`,
)
/** The entries are read in the same snapshot as the rows. */
const read = sql<Omit<CountsQuery, 'id'> & { readonly id: string | null }, Entry & Partial<Row>>(
  (d) => `
    ${select(d)} where c.project_id = @projectId and c.subject = @subject and c.step_ms = @stepMs
      and c.begins_at >= @from and c.begins_at <= @to and (cast(@id as text) is null or c.subject_id = @id)
    union all select null, null, null, null, null, counts from ${d.schema}count_entries`,
)
const purge = sql<PurgeCounts>(
  (d) => `
    delete from ${d.schema}counts where ${d.among(
      'seq',
      `select seq from ${d.schema}counts where step_ms = @stepMs and begins_at < @before ${atMost('@limit')}`,
    )}`,
)

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
  read: reads(function* ({ id = null, ...query }) {
    const found = yield* all(read, { ...query, id })
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
    if (!(yield* one(lock, {}))) return 0
    const entries = yield* all(take, { limit })
    if (entries.length === 0) return 0
    const added = rowsOfCounts(parsed(entries), STEPS)
    const before = yield* all(known, { keys: JSON.stringify(added.map(recordOf)) })
    const rows = rowsOfCounts([...before.map(rowOf), ...added], [])
    yield* run(save, { rows: JSON.stringify(rows.map(recordOf)) })
    return entries.length
  }),
  purge: write((before) => run(purge, before)),
})

const rowOf = (row: Row): CountRow => ({
  ...row,
  counts: JSON.parse(row.counts) as CountRow['counts'],
})
