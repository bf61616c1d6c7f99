import type { Database } from 'better-sqlite3'
import type { Page, PageOf } from '@org/agent-messaging-core/storage'

/** Returns the `seq` above all rows of the page. A cursor whose row was deleted counts by its id, a UUIDv7. */
export function pageStart(
  db: Database,
  table: 'api_keys' | 'agents' | 'messages' | 'webhooks' | 'deliveries',
): (page: PageOf) => number {
  const place = db
    .prepare<[string, string], number>(
      `select seq + (id < ?) from ${table} where id <= ? order by id desc limit 1`,
    )
    .pluck()
  return ({ cursor }) =>
    cursor === undefined ? Number.MAX_SAFE_INTEGER : (place.get(cursor, cursor) ?? 0)
}

/** `rows` has one row more than the page if there is a next page. */
export function toPage<Row, T extends { readonly id: string }>(
  rows: readonly Row[],
  limit: number,
  from: (row: Row) => T,
): Page<T> {
  const data = rows.slice(0, limit).map(from)
  return { data, nextCursor: rows.length > limit ? (data.at(-1)?.id ?? null) : null }
}
