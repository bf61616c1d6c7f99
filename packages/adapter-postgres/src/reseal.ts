import type { ResealedRows, ResealStep } from '@org/agent-messaging-core/storage'

type Place = { readonly after: number; readonly limit: number }
type Rows<Row extends { readonly seq: number }, T> = {
  /** Those behind a place, in the order of their `seq`, locked. */
  readonly behind: (place: Place) => Promise<readonly Row[]>
  readonly from: (row: Row) => T
  readonly write: (row: T) => Promise<unknown>
}

/** One step over a table, within a transaction. */
export async function resealRows<Row extends { readonly seq: number }, T>(
  rows: Rows<Row, T>,
  { after, limit, reseal }: ResealStep<T>,
): Promise<ResealedRows> {
  const found = await rows.behind({ after, limit })
  let [resealed, unopened] = [0, 0]
  for (const row of found) {
    const before = rows.from(row)
    const sealed = reseal(before)
    if (sealed === undefined) unopened++
    else if (sealed !== before) {
      await rows.write(sealed)
      resealed++
    }
  }
  const next = found.length < limit ? undefined : found.at(-1)?.seq
  return { resealed, unopened, ...(next !== undefined && { next }) }
}
