import type { Database } from 'better-sqlite3'
import type { Page, PageOf } from '@org/agent-messaging-core/storage'

/** Gives the `seq` below which the page's rows are. A cursor whose row is gone stands where its id, a UUIDv7, would be. */
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

/** `rows` are one more than the page holds, if there are as many. */
export function toPage<Row, T extends { readonly id: string }>(
  rows: readonly Row[],
  limit: number,
  from: (row: Row) => T,
): Page<T> {
  const data = rows.slice(0, limit).map(from)
  return { data, nextCursor: rows.length > limit ? (data.at(-1)?.id ?? null) : null }
}
