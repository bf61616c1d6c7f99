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
  type PrincipalStep,
  type Purge,
} from '@org/agent-messaging-core/storage'
import type { Database } from 'better-sqlite3'
import type { Committer } from './committer.js'
import { atMost, pageStart, preparedOnce } from './statements.js'

type ListQuery = AuditFilter & { readonly before: number; readonly rows: number }

export const auditStore = (committer: Committer, log: AuditRows): AuditStore => ({
  list: (filter, page) => committer.read(() => log.list(filter, page)),
  purge: (purge) => committer.write(() => log.purge(purge)),
})

export class AuditRows {
  readonly #sql: ReturnType<typeof prepare>
  readonly #pageStart: ReturnType<typeof pageStart>

  constructor(db: Database) {
    this.#sql = prepare(db)
    this.#pageStart = pageStart(db, 'audit_log')
  }

  /**
   * Adds the entry if the result is that of a change. Call it in the commit of the change. Returns
   * the result.
   */
  recorded<T>(audit: AuditEntry | undefined, result: T): T {
    if (audit && isAuditedChange(result)) this.#sql.insert.run(auditColumns(audit))
    return result
  }

  /** Adds the entry if a change of many rows has changed a row. Returns the result. */
  recordedRows<K extends string, T extends { readonly [key in K]: number }>(
    audit: AuditEntry | undefined,
    result: T,
    rows: K,
  ): T {
    this.recorded(audit, result[rows] > 0)
    return result
  }

  list(filter: AuditFilter, page: PageOf): Page<AuditEntry> {
    const statement = this.#sql.list(`
      select ${selectList(AUDIT_COLUMNS)} from audit_log
      where ${auditConditions(filter)} seq < @before order by seq desc ${atMost('@rows')}`)
    const rows = statement.all({ ...filter, before: this.#pageStart(page), rows: page.limit + 1 })
    return toPage(rows, page.limit, toAuditEntry)
  }

  purge(purge: Purge): number {
    return this.#sql.purge.run(purge).changes
  }
}

/** The entry of a step that erases. */
export const entryOf = ({ audit, countOnly }: PrincipalStep): AuditEntry | undefined =>
  countOnly ? undefined : audit

const prepare = (db: Database) => ({
  insert: db.prepare<[AuditRow]>(
    `insert into audit_log ${insertList(AUDIT_COLUMNS)} on conflict do nothing`,
  ),
  list: preparedOnce<ListQuery, AuditRow>(db),
  purge: db.prepare<[Purge]>(`
    delete from audit_log where seq in
      (select seq from audit_log where created_at < @finishedBefore
        order by created_at ${atMost('@limit')})`),
})
