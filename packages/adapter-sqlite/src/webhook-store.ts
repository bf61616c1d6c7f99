import type { Database } from 'better-sqlite3'
import {
  changeWebhook,
  insertList,
  resealRows,
  toPage,
  toWebhook,
  WEBHOOK_COLUMNS,
  webhookColumns,
  type Page,
  type PageOf,
  type ResealedRows,
  type ResealStep,
  type SecretRotation,
  type Webhook,
  type WebhookChange,
  type WebhookColumns,
  type WebhookRow,
  type WebhookStore,
} from '@org/agent-messaging-core/storage'
import type { AuditRows } from './audit-store.js'
import type { Committer } from './committer.js'
import type { HookRows } from './hook-rows.js'
import { atMost, pageStart } from './statements.js'
import { selectWebhook, updateWebhookSql, type WebhookRows } from './webhook-rows.js'

type Parts = {
  readonly webhooks: WebhookRows
  readonly audit: AuditRows
  readonly hooks: HookRows
}

export function webhookStore(db: Database, committer: Committer, parts: Parts): WebhookStore {
  const { webhooks: cache, audit: log, hooks } = parts
  const webhooks = new Webhooks(db)

  const write: Committer['write'] = (operation) =>
    committer.write(() => {
      cache.changed()
      return operation()
    })

  return {
    create: (webhook, limit, audit) =>
      write(() => log.recorded(audit, webhooks.create(webhook, limit))),
    get: (projectId, id) => committer.read(() => webhooks.get(projectId, id)),
    list: (projectId, page) => committer.read(() => webhooks.list(projectId, page)),
    update: (projectId, id, changes, audit) =>
      write(() => log.recorded(audit, webhooks.update(projectId, id, changes))),
    rotateSecret: (projectId, id, rotation, audit) =>
      write(() => log.recorded(audit, webhooks.rotateSecret(projectId, id, rotation))),
    delete: (projectId, id, audit) =>
      write(() => log.recorded(audit, webhooks.delete(projectId, id))),
    setHook: (hook, agentId, limit) => write(() => hooks.set(hook, agentId, limit)),
    hooksOf: (ref) => committer.read(() => hooks.list(ref)),
    deleteHook: (ref, name) => write(() => hooks.delete(ref, name)),
    reseal: (step) => write(() => webhooks.reseal(step)),
  }
}

class Webhooks {
  readonly #sql: ReturnType<typeof prepare>
  readonly #pageStart: ReturnType<typeof pageStart>

  constructor(db: Database) {
    this.#sql = prepare(db)
    this.#pageStart = pageStart(db, 'webhooks')
  }

  get(projectId: string, id: string): Webhook | undefined {
    const row = this.#sql.one.get(id, projectId)
    return row && toWebhook(row)
  }

  list(projectId: string, page: PageOf): Page<Webhook> {
    const rows = this.#sql.list.all(projectId, this.#pageStart(page), page.limit + 1)
    return toPage(rows, page.limit, toWebhook)
  }

  create(webhook: Webhook, limit: number): 'created' | 'limit_reached' {
    if (this.#sql.exists.get(webhook.id)) return 'created'
    if ((this.#sql.count.get(webhook.projectId) ?? 0) >= limit) return 'limit_reached'
    this.#sql.insert.run(webhookColumns(webhook))
    this.#subscribe(webhook)
    return 'created'
  }

  update(projectId: string, id: string, changes: WebhookChange): Webhook | undefined {
    const row = this.#sql.one.get(id, projectId)
    if (!row) return undefined
    const changed = changeWebhook(toWebhook(row), changes)
    this.#sql.update.run(webhookColumns(changed))
    this.#sql.unsubscribe.run(projectId, row.seq)
    this.#subscribe(changed)
    return changed
  }

  rotateSecret(
    projectId: string,
    id: string,
    { secret, previousUntil, updatedAt }: SecretRotation,
  ): Webhook | undefined {
    const webhook = this.get(projectId, id)
    if (!webhook) return undefined
    const previousSecret = { secret: webhook.secret, until: previousUntil }
    const rotated = { ...webhook, secret, previousSecret, updatedAt }
    this.#sql.update.run(webhookColumns(rotated))
    return rotated
  }

  delete(projectId: string, id: string): boolean {
    const row = this.#sql.one.get(id, projectId)
    if (!row) return false
    this.#sql.unsubscribe.run(projectId, row.seq)
    this.#sql.erase.run(row.seq)
    return true
  }

  reseal(step: ResealStep<Webhook>): ResealedRows {
    const rows = this.#sql.after.all(step.after, step.limit)
    const { changed, result } = resealRows(rows, toWebhook, step)
    for (const webhook of changed) this.#sql.update.run(webhookColumns(webhook))
    return result
  }

  #subscribe({ id, projectId, events }: Webhook): void {
    // The wildcard contains all names. One row per event makes one delivery.
    const names = events.includes('*') ? ['*'] : new Set(events)
    for (const name of names) this.#sql.subscribe.run(projectId, name, id)
  }
}

/** Not deleted, and no hook of a message. */
const OF_PROJECT = 'w.is_deleted = 0 and w.message_id is null'

const prepare = (db: Database) => ({
  one: db.prepare<[string, string], WebhookRow>(
    `${selectWebhook} where w.id = ? and w.project_id = ? and ${OF_PROJECT}`,
  ),
  exists: db.prepare<[string]>('select 1 from webhooks where id = ?'),
  count: db
    .prepare<[string], number>(
      `select count(*) from webhooks w where w.project_id = ? and ${OF_PROJECT}`,
    )
    .pluck(),
  list: db.prepare<[string, number, number], WebhookRow>(
    `${selectWebhook} where w.project_id = ? and ${OF_PROJECT} and w.seq < ? order by w.seq desc ${atMost('?')}`,
  ),
  after: db.prepare<[number, number], WebhookRow>(
    `${selectWebhook} where w.is_deleted = 0 and w.seq > ? order by w.seq ${atMost('?')}`,
  ),
  insert: db.prepare<[WebhookColumns]>(`insert into webhooks ${insertList(WEBHOOK_COLUMNS)}`),
  update: db.prepare<[WebhookColumns]>(updateWebhookSql),
  // The URL is erased too, because the URL of some services contains the secret.
  erase: db.prepare<[number]>(`
    update webhooks set url = '', description = null, secret = '', previous_secret = null, header_names = null, headers = null, is_deleted = 1
    where seq = ?`),
  unsubscribe: db.prepare<[string, number]>(
    'delete from subscriptions where project_id = ? and webhook_seq = ?',
  ),
  subscribe: db.prepare<[string, string, string]>(
    'insert into subscriptions (project_id, event, webhook_seq) select ?, ?, seq from webhooks where id = ?',
  ),
})
