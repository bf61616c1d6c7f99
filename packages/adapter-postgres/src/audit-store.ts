import {
  AUDIT_COLUMNS,
  auditColumns,
  auditConditions,
  insertList,
  isAuditedChange,
  selectList,
  toAuditEntry,
  toPage,
  type AuditEntry,
  type AuditFilter,
  type AuditRow,
  type AuditStore,
  type Page,
  type PageOf,
  type Purge,
} from '@org/agent-messaging-core/storage'
import type { Database, Queries } from './database.js'
import { pageStart } from './page.js'
import { sql } from './sql.js'

type ListQuery = AuditFilter & { readonly before: number; readonly rows: number }

const insertSql = sql<AuditRow>(
  `insert into agent_messaging.audit_log ${insertList(AUDIT_COLUMNS)} on conflict do nothing`,
)
/** `= any(array(…))`: see `cancelStale`. */
const purgeSql = sql<Purge>(`
  delete from agent_messaging.audit_log where seq = any(array(
    select seq from agent_messaging.audit_log where created_at < @finishedBefore
    order by created_at limit @limit))`)

const start = pageStart('audit_log')

export function auditStore({ read, write }: Database): AuditStore {
  return {
    list: (filter, page) => read((db) => list(db, filter, page)),
    purge: (purge) => write((db) => db.run(purgeSql, purge)),
  }
}

/**
 * Adds the entry in the transaction of `change` if the result is that of a change. Returns the
 * result.
 */
export async function recorded<T>(
  db: Queries,
  audit: AuditEntry | undefined,
  change: T | Promise<T>,
): Promise<T> {
  const result = await change
  if (audit && isAuditedChange(result)) await db.run(insertSql, auditColumns(audit))
  return result
}

async function list(db: Queries, filter: AuditFilter, page: PageOf): Promise<Page<AuditEntry>> {
  const listSql = sql<ListQuery, AuditRow>(`
    select ${selectList(AUDIT_COLUMNS)} from agent_messaging.audit_log
    where ${auditConditions(filter)} seq < @before order by seq desc limit @rows`)
  const before = await start(db, page)
  const rows = await db.all(listSql, { ...filter, before, rows: page.limit + 1 })
  return toPage(rows, page.limit, toAuditEntry)
}
