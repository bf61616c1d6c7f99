import type { TraceContext } from '../domain/messages/trace.js'
import type { Page, ResealedRows, ResealStep } from '../ports/stored.js'

/** Makes a page of its rows. `rows` has one row more than the page if there is a next page. */
export function toPage<Row, T extends { readonly id: string }>(
  rows: readonly Row[],
  limit: number,
  from: (row: Row) => T,
): Page<T> {
  const data = rows.slice(0, limit).map(from)
  return { data, nextCursor: rows.length > limit ? (data.at(-1)?.id ?? null) : null }
}

type Resealed<T> = { readonly changed: readonly T[]; readonly result: ResealedRows }

/** Reseals the rows of one step. The store writes `changed` and answers `result`. */
export function resealRows<Row extends { readonly seq: number }, T>(
  rows: readonly Row[],
  from: (row: Row) => T,
  { limit, reseal }: ResealStep<T>,
): Resealed<T> {
  const changed: T[] = []
  let unopened = 0
  for (const row of rows) {
    const before = from(row)
    const after = reseal(before)
    if (after === undefined) unopened++
    else if (after !== before) changed.push(after)
  }
  const next = rows.length < limit ? undefined : rows.at(-1)?.seq
  return {
    changed,
    result: { resealed: changed.length, unopened, ...(next !== undefined && { next }) },
  }
}

export const traceColumn = (trace: TraceContext | undefined): string | null =>
  trace ? JSON.stringify(trace) : null

/** Reads the column that `traceColumn` wrote. Spread the result. */
export const toTrace = (column: string | null): { trace?: TraceContext } =>
  column === null ? {} : { trace: JSON.parse(column) as TraceContext }
