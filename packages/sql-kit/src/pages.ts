import type { Page } from '@org/agent-messaging-core'
import {
  resealRows,
  toPage,
  type PageOf,
  type ResealedRows,
  type ResealStep,
} from '@org/agent-messaging-core/storage'
import { atMost } from './dialect.js'
import { all, one, run, sql, type Operation, type Sql } from './operation.js'

export type OfProject = { readonly projectId: string }

/** Keeps two concurrent transactions from both taking the last place. Finds no row without one. */
export const lockProject = sql<OfProject>(
  ({ schema, lock }) =>
    `select 1 from ${schema}projects where id = @projectId ${lock('no key update')}`,
)

/** Counts the rows of a project. `condition` can use the parameters of the operation. */
export function countIn<P extends OfProject = OfProject>(
  table: string,
  condition: Sql<P> = () => 'true',
): (parameters: P) => Operation<number> {
  const count = sql<P, { readonly count: number }>(
    (d) => `
      select count(*) as count from ${d.schema}${table}
      where project_id = @projectId and ${condition(d)}`,
  )
  return function* (parameters) {
    return (yield* one<P, { readonly count: number }>(count, parameters))?.count ?? 0
  }
}

export type Bounds = { readonly before: number; readonly rows: number }

/** Follows the conditions of a list. */
export const NEWEST = `seq < @before order by seq desc ${atMost('@rows')}`

/**
 * Returns the `seq` above all rows of the page. A cursor whose row was deleted counts by its id, a
 * UUIDv7.
 */
export function pageBounds(table: string): (page: PageOf) => Operation<Bounds> {
  const place = sql<{ readonly cursor: string }, { readonly before: number }>(
    ({ schema }) => `
      select seq + case when id < @cursor then 1 else 0 end as before from ${schema}${table}
      where id <= @cursor order by id desc limit 1`,
  )
  return function* ({ cursor, limit }) {
    const before =
      cursor === undefined
        ? Number.MAX_SAFE_INTEGER
        : ((yield* one(place, { cursor }))?.before ?? 0)
    return { before, rows: limit + 1 }
  }
}

/** Lists the rows of a project, newest first. `select` ends with the conditions. */
export function pagesOf<Row, T extends { readonly id: string }>(
  table: string,
  select: Sql<object, Row>,
  from: (row: Row) => T,
): (projectId: string, page: PageOf) => Operation<Page<T>> {
  const bounds = pageBounds(table)
  const newest = sql<Bounds & { readonly projectId: string }, Row>(
    (d) => `${select(d)} and ${NEWEST}`,
  )
  return function* (projectId, page) {
    const rows = yield* all(newest, { projectId, ...(yield* bounds(page)) })
    return toPage(rows, page.limit, from)
  }
}

/** Reseals rows. `select` ends with `where` or with conditions and `and`. */
export function resealing<Row extends { readonly seq: number }, Columns extends object, T>(
  select: Sql<object, Row>,
  from: (row: Row) => T,
  update: Sql<Columns>,
  columns: (item: T) => Columns,
): (step: ResealStep<T>) => Operation<ResealedRows> {
  const after = sql<ResealStep<T>, Row>(
    (d) => `${select(d)} seq > @after order by seq ${atMost('@limit')} ${d.lock('no key update')}`,
  )
  return function* (step) {
    const { changed, result } = resealRows(yield* all(after, step), from, step)
    for (const item of changed) yield* run(update, columns(item))
    return result
  }
}
