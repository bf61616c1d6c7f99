import { sumOfCounts, type Count } from '@org/agent-messaging-core/storage'
import type { Queries } from '../database/gateway.js'
import { call } from '../database/sql.js'

type Counted = { readonly count?: Count | undefined; readonly endCount?: Count }

type CountParameters = {
  readonly counted: number
  /** JSON: the sums of all writes. */
  readonly sums: string
  /** JSON: the counts of each write, in the order of the batch. */
  readonly each: string
}

/**
 * Extends a statement that returns the `place` of each write of a batch, as `result`. Appends one
 * entry with the counts of the writes for which `takesEffect` holds, in the commit of the same
 * statement. Nearly always all of them do, so the sums are ready.
 */
const counting = (takesEffect: string): string => `
  effective as materialized (
    select count(*) as writes, array_agg(r.place) as places from result r where ${takesEffect}),
  appended as (
    insert into agent_messaging.count_entries (counts)
    select case when e.writes = @counted::bigint then @sums::text else (
      select coalesce(json_agg(c.value), '[]')::text
      from json_array_elements(@each::json) with ordinality as w (counts, place),
        json_array_elements(w.counts) as c
      where w.place = any(e.places)) end
    from effective e where e.writes > 0)`

const extended = (statement: string, parts: readonly string[], rows: string): string =>
  `with ${[`result as materialized (${statement})`, ...parts].join(', ')} select ${rows}`

function countParameters(writes: readonly Counted[]): CountParameters | undefined {
  const each = writes.map(countsOf)
  const counts = each.flat()
  if (counts.length === 0) return undefined
  if (writes.length === 1) return { counted: 1, sums: JSON.stringify(counts), each: '[]' }
  const sums = JSON.stringify(sumOfCounts(counts))
  return { counted: writes.length, sums, each: JSON.stringify(each) }
}

function countsOf({ count, endCount }: Counted): readonly Count[] {
  if (!count) return []
  return endCount ? [count, endCount] : [count]
}

type CountingCall<Parameters, Row> = (
  db: Queries,
  parameters: Parameters,
  writes: readonly Counted[],
) => Promise<Row[]>

/**
 * Makes a call of a function that writes a batch. The call returns the rows of the function, and
 * appends the counts of the writes, which come in the order of the batch. `also` is a part of the
 * same statement that can use `result`. `rows` replaces the rows of the function.
 */
export function countingCall<Parameters extends object, Row>(
  text: string,
  takesEffect: string,
  also?: string,
  rows = '* from result',
): CountingCall<Parameters, Row> {
  const parts = also === undefined ? [] : [also]
  const plain = call<Parameters, Row>(also === undefined ? text : extended(text, parts, rows))
  const counted = call<Parameters & CountParameters, Row>(
    extended(text, [counting(takesEffect), ...parts], rows),
  )
  return (db, parameters, writes) => {
    const counts = countParameters(writes)
    return counts ? db.all(counted, { ...parameters, ...counts }) : db.all(plain, parameters)
  }
}
