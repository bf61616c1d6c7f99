import type { PageOf } from '@org/agent-messaging-core/storage'
import type { Queries } from './database.js'
import { sql } from './sql.js'

type Table = 'api_keys' | 'agents' | 'webhooks' | 'recoveries' | 'audit_log'

/**
 * Returns the `seq` above all rows of the page. A cursor whose row was deleted counts by its id, a
 * UUIDv7.
 */
export function pageStart(table: Table): (db: Queries, page: PageOf) => Promise<number> {
  const place = sql<{ readonly cursor: string }, { readonly before: number }>(`
    select seq + (id < @cursor)::int as before from agent_messaging.${table}
    where id <= @cursor order by id desc limit 1`)
  return async (db, { cursor }) =>
    cursor === undefined
      ? Number.MAX_SAFE_INTEGER
      : ((await db.one(place, { cursor }))?.before ?? 0)
}
