import {
  sumOfUsage,
  USAGE_COUNTS,
  type Usage,
  type UsageCounts,
  type UsageQuery,
  type UsageStore,
} from '@org/agent-messaging-core/storage'
import type { Gateway, Queries } from '../database/gateway.js'
import { call, sql } from '../database/sql.js'

const columnOf = (name: string): string =>
  name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
const columns = USAGE_COUNTS.map(columnOf)

/**
 * A project's counts of a day are spread over this many rows, so that commits at the same time
 * seldom wait for each other's row. A connection always uses the same row.
 */
const SLOTS = 16
/** A host's transaction can be long, so it uses other rows than the batches of this service. */
const HOST_SLOTS = SLOTS

type UsageParameters = {
  /** JSON: the counts of each write that has some, with the place of the write in its batch. */
  readonly usage: string
  readonly firstSlot: number
}

/**
 * Extends a statement that returns the `place` of each write of a batch. Adds the counts of the
 * writes for which `takesEffect` holds, in the commit of the same statement. The rows of the counts
 * are locked last and in one order, so two batches cannot deadlock.
 */
const counting = (statement: string, takesEffect = 'true'): string => `
  with result as materialized (${statement}),
  counted as (
    insert into agent_messaging.usage as u (project_id, day, slot, ${columns.join(', ')})
    select g."projectId", g.day, @firstSlot::integer + pg_backend_pid() % ${SLOTS},
      ${USAGE_COUNTS.map((name) => `coalesce(sum(g."${name}"), 0)`).join(', ')}
    from json_to_recordset(@usage::json) as g (place bigint, "projectId" text, day integer,
      ${USAGE_COUNTS.map((name) => `"${name}" bigint`).join(', ')})
    where g.place in (select r.place from result r where ${takesEffect})
    group by 1, 2 order by 1, 2
    on conflict (project_id, day, slot) do update set
      ${columns.map((name) => `${name} = u.${name} + excluded.${name}`).join(', ')})
  select * from result`

type Counted = { readonly usage?: Usage | undefined }

/** Returns undefined if no write of the batch has counts. */
function usageParameters(
  writes: readonly Counted[],
  isOfHost: boolean,
): UsageParameters | undefined {
  const rows = writes.flatMap(({ usage }, at) =>
    usage ? [{ place: at + 1, projectId: usage.projectId, day: usage.day, ...usage.counts }] : [],
  )
  if (rows.length === 0) return undefined
  return { usage: JSON.stringify(rows), firstSlot: isOfHost ? HOST_SLOTS : 0 }
}

type CountingCall<Parameters, Row> = (
  db: Queries,
  parameters: Parameters,
  writes: readonly Counted[],
  isOfHost?: boolean,
) => Promise<Row[]>

/**
 * Makes a call of a function that writes a batch. The call returns the rows of the function, and
 * adds the counts of the writes, which come in the order of the batch.
 */
export function countingCall<Parameters extends object, Row>(
  text: string,
  takesEffect?: string,
): CountingCall<Parameters, Row> {
  const plain = call<Parameters, Row>(text)
  const counted = call<Parameters & UsageParameters, Row>(counting(text, takesEffect))
  return (db, parameters, writes, isOfHost = false) => {
    const usage = usageParameters(writes, isOfHost)
    return usage ? db.all(counted, { ...parameters, ...usage }) : db.all(plain, parameters)
  }
}

const addSql = sql<UsageParameters>(counting('select 1::bigint as place'))

/** Adds the counts of a write in its transaction. */
export async function addUsage(db: Queries, write: Counted): Promise<void> {
  const usage = usageParameters([write], false)
  if (usage) await db.run(addSql, usage)
}

const readSql = sql<UsageQuery, UsageCounts & { readonly day: number }>(`
  select day, ${USAGE_COUNTS.map((name) => `sum(${columnOf(name)})::bigint as "${name}"`).join(', ')}
  from agent_messaging.usage
  where project_id = @projectId and day between @fromDay and @toDay
  group by day order by day`)

export const usageStore = ({ read }: Gateway): UsageStore => ({
  read: (query) =>
    read(async (db) => {
      const rows = await db.all(readSql, query)
      return rows.map(({ day, ...counts }) => ({ day, counts: sumOfUsage([counts]) }))
    }),
})
