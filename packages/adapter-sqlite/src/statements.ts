import type { Database, Statement } from 'better-sqlite3'

/** Prepares each text once. For queries whose text depends on which filters they have; the texts are few. */
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
 * The only way to write a `limit` with a bound number. SQLite looks at a bound number that stands there alone while it plans, and so
 * prepares the statement anew whenever that was bound: three times the cost of a short query. A sum it leaves until it runs.
 */
export const atMost = (parameter: string): string => `limit ${parameter} + 0`
