import type { PageOf } from '@org/agent-messaging-core/storage'
import type { Database, Statement } from 'better-sqlite3'

/**
 * Prepares each text once. For queries whose text depends on their filters. Their texts are few.
 */
export function preparedOnce<Parameters extends object, Row>(
  db: Database,
): (sql: string) => Statement<[Parameters], Row> {
  const statements = new Map<string, Statement<[Parameters], Row>>()
  return (sql) => {
    const statement = statements.get(sql) ?? db.prepare<[Parameters], Row>(sql)
    statements.set(sql, statement)
    return statement
  }
}

/**
 * Writes a `limit` with a bound number. Never write one in another way. SQLite reads a bare bound
 * number while it plans, and so prepares the statement again at each binding, which triples the
 * cost of a short query. SQLite evaluates a sum only when the query runs.
 */
export const atMost = (parameter: string): string => `limit ${parameter} + 0`

/**
 * Returns the `seq` above all rows of the page. A cursor whose row was deleted counts by its id, a
 * UUIDv7.
 */
export function pageStart(
  db: Database,
  table: 'api_keys' | 'agents' | 'webhooks' | 'recoveries' | 'audit_log',
): (page: PageOf) => number {
  const place = db
    .prepare<[string, string], number>(
      `select seq + (id < ?) from ${table} where id <= ? order by id desc limit 1`,
    )
    .pluck()
  return ({ cursor }) =>
    cursor === undefined ? Number.MAX_SAFE_INTEGER : (place.get(cursor, cursor) ?? 0)
}
