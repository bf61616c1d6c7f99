import {
  assignments,
  insertList,
  RECOVERY_COLUMNS,
  RECOVERY_UPDATE,
  recoveryAfterPage,
  recoveryColumns,
  selectList,
  toPage,
  toRecovery,
  type Instant,
  type Page,
  type PageOf,
  type Purge,
  type Recovery,
  type RecoveryRow,
  type RecoveryStore,
} from '@org/agent-messaging-core/storage'
import type { Database } from 'better-sqlite3'
import type { AuditRows } from './audit-rows.js'
import type { Committer } from './committer.js'
import { redelivery, type Redelivery } from './redelivery.js'
import { atMost, pageStart } from './statements.js'
import type { WebhookRows } from './webhook-rows.js'

type Columns = Omit<RecoveryRow, 'seq'>

export function recoveryStore(
  db: Database,
  committer: Committer,
  { webhooks, audit: log }: { readonly webhooks: WebhookRows; readonly audit: AuditRows },
): RecoveryStore {
  const recoveries = new Recoveries(db, redelivery(db, webhooks))
  return {
    create: (recovery, limit, audit) =>
      committer.write(() => log.recorded(audit, recoveries.create(recovery, limit))),
    get: (projectId, id) => committer.read(() => recoveries.get(projectId, id)),
    list: (projectId, page) => committer.read(() => recoveries.list(projectId, page)),
    cancel: (projectId, id, now, audit) =>
      committer.write(() => log.recorded(audit, recoveries.cancel(projectId, id, now))),
    advance: (step) => committer.write(() => recoveries.advance(step)),
    purge: (purge) => committer.write(() => recoveries.purge(purge)),
  }
}

class Recoveries {
  readonly #sql: ReturnType<typeof prepare>
  readonly #pageStart: ReturnType<typeof pageStart>
  readonly #redelivery: Redelivery

  constructor(db: Database, deliveries: Redelivery) {
    this.#sql = prepare(db)
    this.#pageStart = pageStart(db, 'recoveries')
    this.#redelivery = deliveries
  }

  get(projectId: string, id: string): Recovery | undefined {
    const row = this.#sql.one.get(id, projectId)
    return row && toRecovery(row)
  }

  list(projectId: string, page: PageOf): Page<Recovery> {
    const rows = this.#sql.list.all(projectId, this.#pageStart(page), page.limit + 1)
    return toPage(rows, page.limit, toRecovery)
  }

  create(recovery: Recovery, limit: number): 'created' | 'limit_reached' {
    if (this.#sql.one.get(recovery.id, recovery.projectId)) return 'created'
    if ((this.#sql.countRunning.get(recovery.projectId) ?? 0) >= limit) return 'limit_reached'
    this.#sql.insert.run(recoveryColumns(recovery, recovery.createdAt))
    return 'created'
  }

  cancel(projectId: string, id: string, now: Instant): Recovery | 'already_final' | undefined {
    const recovery = this.get(projectId, id)
    if (recovery?.state.kind !== 'running') return recovery && 'already_final'
    return this.#save({ ...recovery, state: { kind: 'cancelled', finishedAt: now } }, now)
  }

  advance({ limit, now }: { limit: number; now: Instant }): Recovery | undefined {
    const row = this.#sql.next.get()
    if (!row) return undefined
    const recovery = toRecovery(row)
    const { id, projectId, filter, cursor, createdAt } = recovery
    if (filter.webhookId !== undefined && !this.#sql.webhook.get(filter.webhookId)) {
      const state = { kind: 'failed', finishedAt: now, reason: 'webhook_deleted' } as const
      return this.#save({ ...recovery, state }, now)
    }
    const page = { limit, ...(cursor !== undefined && { cursor }) }
    const recovered = this.#redelivery.redeliver({ ...filter, projectId }, page, now)
    const progress = recoveryAfterPage(recovery, recovered, now)
    return this.#save({ id, projectId, filter, createdAt, ...progress }, now)
  }

  purge(purge: Purge): number {
    return this.#sql.purge.run(purge).changes
  }

  #save(recovery: Recovery, now: Instant): Recovery {
    this.#sql.update.run(recoveryColumns(recovery, now))
    return recovery
  }
}

const select = `select seq, ${selectList(RECOVERY_COLUMNS)} from recoveries`

const prepare = (db: Database) => ({
  one: db.prepare<[string, string], RecoveryRow>(`${select} where id = ? and project_id = ?`),
  list: db.prepare<[string, number, number], RecoveryRow>(
    `${select} where project_id = ? and seq < ? order by seq desc ${atMost('?')}`,
  ),
  next: db.prepare<[], RecoveryRow>(
    `${select} where finished_at is null order by last_page_at, seq limit 1`,
  ),
  countRunning: db
    .prepare<[string], number>(
      'select count(*) from recoveries where project_id = ? and finished_at is null',
    )
    .pluck(),
  webhook: db.prepare<[string]>('select 1 from webhooks where id = ? and is_deleted = 0'),
  insert: db.prepare<[Columns]>(`insert into recoveries ${insertList(RECOVERY_COLUMNS)}`),
  update: db.prepare<[Columns]>(
    `update recoveries set ${assignments(RECOVERY_UPDATE)} where id = @id`,
  ),
  purge: db.prepare<[Purge]>(
    `delete from recoveries where seq in
      (select seq from recoveries where finished_at < @finishedBefore order by finished_at ${atMost('@limit')})`,
  ),
})
