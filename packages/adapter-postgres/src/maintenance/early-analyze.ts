import type { Gateway } from '../database/gateway.js'
import { sql } from '../database/sql.js'

/** With fewer rows every plan is as fast as any other. */
const FIRST_ROWS = 1_000

const unknownSql = sql(`
  select 1 from pg_class
  where oid = to_regclass('agent_messaging.messages') and reltuples < ${FIRST_ROWS}`)
const TABLES = ['messages', 'sessions', 'events', 'deliveries', 'attempts']
const analyzeSql = sql(`analyze ${TABLES.map((table) => `agent_messaging.${table}`).join(', ')}`)

/**
 * Runs ANALYZE once, after the first thousand messages of a new database. Otherwise lists have
 * plans for empty tables until autovacuum runs. No call waits for it, and its failure is ignored.
 */
export function earlyAnalyze(gateway: Pick<Gateway, 'read'>): (rows: number) => void {
  let left = FIRST_ROWS
  return (rows) => {
    if (left <= 0) return
    left -= rows
    if (left > 0) return
    void gateway.read(async (db) => {
      if (await db.one(unknownSql, {})) await db.run(analyzeSql, {})
    })
  }
}
