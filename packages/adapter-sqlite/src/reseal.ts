import type { ResealedRows, ResealStep } from '@org/agent-messaging-core/storage'

type Rows<Row extends { readonly seq: number }, T> = {
  /** Returns up to `limit` rows after `seq`, in order. */
  readonly after: (seq: number, limit: number) => readonly Row[]
  readonly from: (row: Row) => T
  readonly write: (row: T) => void
}

/** One step over a table, within a transaction. */
export function resealRows<Row extends { readonly seq: number }, T>(
  rows: Rows<Row, T>,
  { after, limit, reseal }: ResealStep<T>,
): ResealedRows {
  const found = rows.after(after, limit)
  let [resealed, unopened] = [0, 0]
  for (const row of found) {
    const before = rows.from(row)
    const sealed = reseal(before)
    if (sealed === undefined) unopened++
    else if (sealed !== before) {
      rows.write(sealed)
      resealed++
    }
  }
  const next = found.length < limit ? undefined : found.at(-1)?.seq
  return { resealed, unopened, ...(next !== undefined && { next }) }
}
