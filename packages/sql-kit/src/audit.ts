import type { AuditEntry } from '@org/agent-messaging-core'
import {
  AUDIT_COLUMNS,
  auditedChange,
  auditColumns,
  auditConditions,
  insertList,
  NO_ROW,
  selectList,
  toAuditEntry,
  toPage,
  type AuditedRow,
  type AuditFilter,
  type AuditRow,
  type AuditStore,
  type Purge,
} from '@org/agent-messaging-core/storage'
import { atMost } from './dialect.js'
import { all, run, sql, type Operation, type Runner, type Sql } from './operation.js'
import { NEWEST, pageBounds, type Bounds } from './pages.js'

const insert = sql<AuditRow>(
  ({ schema }) =>
    `insert into ${schema}audit_log ${insertList(AUDIT_COLUMNS)} on conflict do nothing`,
)
const purge = sql<Purge>(
  ({ schema, among }) =>
    `delete from ${schema}audit_log where ${among(
      'seq',
      `
      select seq from ${schema}audit_log where created_at < @finishedBefore
      order by created_at ${atMost('@limit')}`,
    )}`,
)
const list =
  (filter: AuditFilter): Sql<AuditFilter & Bounds, AuditRow> =>
  ({ schema }) =>
    `select ${selectList(AUDIT_COLUMNS)} from ${schema}audit_log
    where ${auditConditions(filter)} ${NEWEST}`

const bounds = pageBounds('audit_log')

/** Adds the entry, in the transaction of its change, with the facts of the changed row. */
export function* record(
  audit: AuditEntry | undefined,
  after: AuditedRow = NO_ROW,
  before?: AuditedRow,
): Operation<void> {
  if (audit) yield* run(insert, auditColumns(auditedChange(audit, after, before)))
}

export const auditStore = ({ read, write }: Runner): AuditStore => ({
  add: write((entry) => record(entry)),
  list: read(function* (filter, page) {
    const rows = yield* all(list(filter), { ...filter, ...(yield* bounds(page)) })
    return toPage(rows, page.limit, toAuditEntry)
  }),
  purge: write((before) => run(purge, before)),
})
