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
  { read, write: commit }: Committer,
  webhooks: WebhookRows,
): WebhookStore {
  const one = db.prepare<[string, string], WebhookRow>(
    `${selectWebhook} where w.id = ? and w.project_id = ? and w.is_deleted = 0`,
  )
  const exists = db.prepare<[string]>('select 1 from webhooks where id = ?')
  const count = db
    .prepare<[string], number>(
      'select count(*) from webhooks where project_id = ? and is_deleted = 0',
    )
    .pluck()
  const start = pageStart(db, 'webhooks')
  const list = db.prepare<[string, number, number], WebhookRow>(
    `${selectWebhook} where w.project_id = ? and w.is_deleted = 0 and w.seq < ? order by w.seq desc ${atMost('?')}`,
  )
  const behind = db.prepare<[number, number], WebhookRow>(
    `${selectWebhook} where w.is_deleted = 0 and w.seq > ? order by w.seq ${atMost('?')}`,
  )
  const insert = db.prepare<[Columns]>(`
    insert into webhooks (id, project_id, url, events, agent_id, description, secret, header_names, headers, previous_secret, previous_until, disable_on_gone,
      disabled_at, disabled_reason, consecutive_failures, failing_since, last_success_at, last_failure_at, circuit_until, circuit_trips,
      created_at, updated_at, is_deleted)
    values (@id, @projectId, @url, @events, @agentId, @description, @secret, @headerNames, @headers, @previousSecret, @previousUntil, @disableOnGone,
      @disabledAt, @disabledReason, @consecutiveFailures, @failingSince, @lastSuccessAt, @lastFailureAt, @circuitUntil, @circuitTrips,
      @createdAt, @updatedAt, 0)`)
  const update = db.prepare<[Columns]>(updateWebhookSql)
  // Of some services the URL alone lets in.
  const erase = db.prepare<[number]>(`
    update webhooks set url = '', description = null, secret = '', previous_secret = null, header_names = null, headers = null, is_deleted = 1
    where seq = ?`)
  const unsubscribe = db.prepare<[string, number]>(
    'delete from subscriptions where project_id = ? and webhook_seq = ?',
  )
  const subscribe = db.prepare<[string, string, string]>(
    'insert into subscriptions (project_id, event, webhook_seq) select ?, ?, seq from webhooks where id = ?',
  )

  const write: typeof commit = (operation) =>
    commit(() => {
      webhooks.changed()
      return operation()
    })

  function subscribeTo({ id, projectId, events }: Webhook): void {
    // One row for one delivery: the wildcard has the names in it.
    const names = events.includes('*') ? ['*'] : new Set(events)
    for (const name of names) subscribe.run(projectId, name, id)
  }

  function create(webhook: Webhook, limit: number): 'created' | 'limit_reached' {
    if (exists.get(webhook.id)) return 'created'
    if ((count.get(webhook.projectId) ?? 0) >= limit) return 'limit_reached'
    insert.run(webhookColumns(webhook))
    subscribeTo(webhook)
    return 'created'
  }

  function change(projectId: string, id: string, changes: WebhookChange): Webhook | undefined {
    const row = one.get(id, projectId)
    if (!row) return undefined
    const changed = changeWebhook(toWebhook(row), changes)
    update.run(webhookColumns(changed))
    unsubscribe.run(projectId, row.seq)
    subscribeTo(changed)
    return changed
  }

  function rotateSecret(
    projectId: string,
    id: string,
    { secret, previousUntil, updatedAt }: SecretRotation,
  ): Webhook | undefined {
    const row = one.get(id, projectId)
    if (!row) return undefined
    const webhook = toWebhook(row)
    const rotated = {
      ...webhook,
      secret,
      previousSecret: { secret: webhook.secret, until: previousUntil },
      updatedAt,
    }
    update.run(webhookColumns(rotated))
    return rotated
  }

  const sealed = {
    behind: (after: number, limit: number) => behind.all(after, limit),
    from: toWebhook,
    write: (webhook: Webhook) => void update.run(webhookColumns(webhook)),
  }

  function remove(projectId: string, id: string): boolean {
    const row = one.get(id, projectId)
    if (!row) return false
    unsubscribe.run(projectId, row.seq)
    erase.run(row.seq)
    return true
  }

  function pageOf(projectId: string, page: PageOf): Page<Webhook> {
    return toPage(list.all(projectId, start(page), page.limit + 1), page.limit, toWebhook)
  }

  return {
    create: (webhook, limit) => write(() => create(webhook, limit)),
    get: (projectId, id) =>
      read(() => {
        const row = one.get(id, projectId)
        return row && toWebhook(row)
      }),
    list: (projectId, page) => read(() => pageOf(projectId, page)),
    update: (projectId, id, changes) => write(() => change(projectId, id, changes)),
    rotateSecret: (projectId, id, rotation) => write(() => rotateSecret(projectId, id, rotation)),
    delete: (projectId, id) => write(() => remove(projectId, id)),
    reseal: (step) => write(() => resealRows(sealed, step)),
  }
}
