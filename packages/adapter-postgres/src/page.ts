import type { Page, PageOf } from '@org/agent-messaging-core/storage'
import type { Queries } from './database.js'
import { sql } from './sql.js'

type Table = 'api_keys' | 'agents' | 'webhooks' | 'deliveries'

/** Gives the `seq` below which the page's rows are. A cursor whose row is gone stands where its id, a UUIDv7, would be. */
export function pageStart(table: Table): (db: Queries, page: PageOf) => Promise<number> {
  const place = sql<{ readonly cursor: string }, { readonly before: number }>(
    `select seq + (id < @cursor)::int as before from agent_messaging.${table} where id <= @cursor order by id desc limit 1`,
  )
  return async (db, { cursor }) =>
    cursor === undefined
      ? Number.MAX_SAFE_INTEGER
      : ((await db.one(place, { cursor }))?.before ?? 0)
}

/** `rows` are one more than the page holds, if there are as many. */
export function toPage<Row, T extends { readonly id: string }>(
  rows: readonly Row[],
  limit: number,
  from: (row: Row) => T,
): Page<T> {
  const data = rows.slice(0, limit).map(from)
  return { data, nextCursor: rows.length > limit ? (data.at(-1)?.id ?? null) : null }
}
