import type { Database, Statement } from 'better-sqlite3'

/** Prepares each text once. For queries whose text depends on which filters they have; the texts are few. */
export function preparedOnce<Parameters extends object, Row>(db: Database): (sql: string) => Statement<[Parameters], Row> {
  const statements = new Map<string, Statement<[Parameters], Row>>()
  return (sql) => {
    const statement = statements.get(sql) ?? db.prepare<[Parameters], Row>(sql)
    statements.set(sql, statement)
    return statement
  }
}
