import type { Database } from 'better-sqlite3'
import {
  changeWebhook,
  type Page,
  type PageOf,
  type SecretRotation,
  type Webhook,
  type WebhookChange,
  type WebhookStore,
} from '@org/agent-messaging-core/storage'
import type { Committer } from './committer.js'
import { pageStart, toPage } from './page.js'
import { resealRows } from './reseal.js'
import { atMost } from './statements.js'
import {
  selectWebhook,
  toWebhook,
  updateWebhookSql,
  webhookColumns,
  type WebhookRow,
} from './webhook-row.js'
import type { WebhookRows } from './webhook-rows.js'

type Columns = ReturnType<typeof webhookColumns>

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

  const sealed = {
    after: (seq: number, limit: number) => sql.after.all(seq, limit),
    from: toWebhook,
    write: (webhook: Webhook) => void sql.update.run(webhookColumns(webhook)),
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
    reseal: (step) => write(() => resealRows(sealed, step)),
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
  insert: db.prepare<[Columns]>(`
    insert into webhooks (id, project_id, url, events, agent_id, description, secret, header_names, headers, previous_secret, previous_until, disable_on_gone,
      disabled_at, disabled_reason, consecutive_failures, failing_since, last_success_at, last_failure_at, circuit_until, circuit_trips,
      created_at, updated_at, is_deleted)
    values (@id, @projectId, @url, @events, @agentId, @description, @secret, @headerNames, @headers, @previousSecret, @previousUntil, @disableOnGone,
      @disabledAt, @disabledReason, @consecutiveFailures, @failingSince, @lastSuccessAt, @lastFailureAt, @circuitUntil, @circuitTrips,
      @createdAt, @updatedAt, 0)`),
  update: db.prepare<[Columns]>(updateWebhookSql),
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
