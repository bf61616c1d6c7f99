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
import type { Committer } from './committer.js'
import { atMost, pageStart } from './statements.js'
import { selectWebhook, updateWebhookSql, type WebhookRows } from './webhook-rows.js'

export function webhookStore(
  db: Database,
  committer: Committer,
  webhooks: WebhookRows,
): WebhookStore {
  const sql = prepare(db)
  const start = pageStart(db, 'webhooks')

  const write: Committer['write'] = (operation) =>
    committer.write(() => {
      webhooks.changed()
      return operation()
    })

  function subscribe({ id, projectId, events }: Webhook): void {
    // The wildcard contains all names. One row per event makes one delivery.
    const names = events.includes('*') ? ['*'] : new Set(events)
    for (const name of names) sql.subscribe.run(projectId, name, id)
  }

  function create(webhook: Webhook, limit: number): 'created' | 'limit_reached' {
    if (sql.exists.get(webhook.id)) return 'created'
    if ((sql.count.get(webhook.projectId) ?? 0) >= limit) return 'limit_reached'
    sql.insert.run(webhookColumns(webhook))
    subscribe(webhook)
    return 'created'
  }

  function change(projectId: string, id: string, changes: WebhookChange): Webhook | undefined {
    const row = sql.one.get(id, projectId)
    if (!row) return undefined
    const changed = changeWebhook(toWebhook(row), changes)
    sql.update.run(webhookColumns(changed))
    sql.unsubscribe.run(projectId, row.seq)
    subscribe(changed)
    return changed
  }

  function rotateSecret(
    projectId: string,
    id: string,
    { secret, previousUntil, updatedAt }: SecretRotation,
  ): Webhook | undefined {
    const row = sql.one.get(id, projectId)
    if (!row) return undefined
    const webhook = toWebhook(row)
    const previousSecret = { secret: webhook.secret, until: previousUntil }
    const rotated = { ...webhook, secret, previousSecret, updatedAt }
    sql.update.run(webhookColumns(rotated))
    return rotated
  }

  function remove(projectId: string, id: string): boolean {
    const row = sql.one.get(id, projectId)
    if (!row) return false
    sql.unsubscribe.run(projectId, row.seq)
    sql.erase.run(row.seq)
    return true
  }

  const pageOf = (projectId: string, page: PageOf): Page<Webhook> =>
    toPage(sql.list.all(projectId, start(page), page.limit + 1), page.limit, toWebhook)

  function reseal(step: ResealStep<Webhook>): ResealedRows {
    const { changed, result } = resealRows(sql.after.all(step.after, step.limit), toWebhook, step)
    for (const webhook of changed) sql.update.run(webhookColumns(webhook))
    return result
  }

  return {
    create: (webhook, limit) => write(() => create(webhook, limit)),
    get: (projectId, id) =>
      committer.read(() => {
        const row = sql.one.get(id, projectId)
        return row && toWebhook(row)
      }),
    list: (projectId, page) => committer.read(() => pageOf(projectId, page)),
    update: (projectId, id, changes) => write(() => change(projectId, id, changes)),
    rotateSecret: (projectId, id, rotation) => write(() => rotateSecret(projectId, id, rotation)),
    delete: (projectId, id) => write(() => remove(projectId, id)),
    reseal: (step) => write(() => reseal(step)),
  }
}

const prepare = (db: Database) => ({
  one: db.prepare<[string, string], WebhookRow>(
    `${selectWebhook} where w.id = ? and w.project_id = ? and w.is_deleted = 0`,
  ),
  exists: db.prepare<[string]>('select 1 from webhooks where id = ?'),
  count: db
    .prepare<[string], number>(
      'select count(*) from webhooks where project_id = ? and is_deleted = 0',
    )
    .pluck(),
  list: db.prepare<[string, number, number], WebhookRow>(
    `${selectWebhook} where w.project_id = ? and w.is_deleted = 0 and w.seq < ? order by w.seq desc ${atMost('?')}`,
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
