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
