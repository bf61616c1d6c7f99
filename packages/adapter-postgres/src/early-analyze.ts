import type { Database } from './database.js'
import { sql } from './sql.js'

/** Until then a scan of all there is costs as much as anything else. */
const FIRST_ROWS = 1_000

const unknownSql = sql(`
  select 1 from pg_class where oid = to_regclass('agent_messaging.messages') and reltuples < ${FIRST_ROWS}`)
const TABLES = ['messages', 'sessions', 'events', 'deliveries', 'attempts']
const analyzeSql = sql(`analyze ${TABLES.map((table) => `agent_messaging.${table}`).join(', ')}`)

/**
 * Has the database look at the tables once, after the first thousand rows: lists planned on empty ones would be slow until autovacuum comes
 * by. Tables that are large already it knows. The answer of a call is never held up by it, and its failure is nobody's.
 */
export function earlyAnalyze(database: Pick<Database, 'read'>): (rows: number) => void {
  let left = FIRST_ROWS
  return (rows) => {
    if (left <= 0) return
    left -= rows
    if (left > 0) return
    void database.read(async (db) => {
      if (await db.one(unknownSql, {})) await db.run(analyzeSql, {})
    })
  }
}
