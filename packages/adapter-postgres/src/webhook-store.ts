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
import { recorded } from './audit-store.js'
import type { Database, Queries } from './database.js'
import { deleteHook, listHooks, setHook } from './hooks.js'
import { pageStart } from './page.js'
import { sql } from './sql.js'
import { selectWebhook, updateWebhook } from './webhook-row.js'

type Ref = { readonly projectId: string; readonly id: string }
type Project = { readonly projectId: string }

/** Not deleted, and no hook of a message. */
const OF_PROJECT = 'not w.is_deleted and w.message_id is null'
const selectOne = `
  ${selectWebhook} where w.id = @id and w.project_id = @projectId and ${OF_PROJECT}`
const oneSql = sql<Ref, WebhookRow>(selectOne)
const lockSql = sql<Ref, WebhookRow>(`${selectOne} for no key update`)
const existsSql = sql<Ref>('select 1 from agent_messaging.webhooks where id = @id')
/** Keeps two concurrent transactions from both taking the last place. */
const lockProjectSql = sql<Project>(
  'select 1 from agent_messaging.projects where id = @projectId for no key update',
)
const countSql = sql<Project, { readonly count: number }>(`
  select count(*) as count from agent_messaging.webhooks w
  where w.project_id = @projectId and ${OF_PROJECT}`)
const newestSql = sql<Project & { readonly before: number; readonly rows: number }, WebhookRow>(`
  ${selectWebhook} where w.project_id = @projectId and ${OF_PROJECT} and w.seq < @before
  order by w.seq desc limit @rows`)
const insertSql = sql<WebhookColumns>(
  `insert into agent_messaging.webhooks ${insertList(WEBHOOK_COLUMNS)}`,
)
/** The URL is erased too, because the URL of some services is a secret. */
const eraseSql = sql<Ref>(`
  update agent_messaging.webhooks
  set url = '', description = null, secret = '', previous_secret = null, header_names = null,
    headers = null, is_deleted = true
  where id = @id`)
const unsubscribeSql = sql<Ref>(`
  delete from agent_messaging.subscriptions
  where project_id = @projectId
    and webhook_seq = (select seq from agent_messaging.webhooks where id = @id)`)
const subscribeSql = sql<Ref & { readonly names: readonly string[] }>(`
  insert into agent_messaging.subscriptions (project_id, event, webhook_seq)
  select @projectId, name, w.seq
  from agent_messaging.webhooks w cross join unnest(@names::text[]) as name where w.id = @id`)

const afterSql = sql<{ readonly after: number; readonly limit: number }, WebhookRow>(`
  ${selectWebhook} where not w.is_deleted and w.seq > @after
  order by w.seq limit @limit for no key update`)

const start = pageStart('webhooks')

export function webhookStore({ read, write }: Database): WebhookStore {
  return {
    create: (webhook, limit, audit) =>
      write((db) => recorded(db, audit, create(db, webhook, limit))),
    get: (projectId, id) =>
      read(async (db) => {
        const row = await db.one(oneSql, { projectId, id })
        return row && toWebhook(row)
      }),
    list: (projectId, page) => read((db) => pageOf(db, projectId, page)),
    update: (projectId, id, changes, audit) =>
      write((db) => recorded(db, audit, change(db, { projectId, id }, changes))),
    rotateSecret: (projectId, id, rotation, audit) =>
      write((db) => recorded(db, audit, rotateSecret(db, { projectId, id }, rotation))),
    delete: (projectId, id, audit) =>
      write((db) => recorded(db, audit, remove(db, { projectId, id }))),
    setHook: (hook, agentId, limit) => write((db) => setHook(db, hook, agentId, limit)),
    hooksOf: (ref) => read((db) => listHooks(db, ref)),
    deleteHook: (ref, name) => write((db) => deleteHook(db, ref, name)),
    reseal: (step) => write((db) => reseal(db, step)),
  }
}

async function create(
  db: Queries,
  webhook: Webhook,
  limit: number,
): Promise<'created' | 'limit_reached'> {
  await db.run(lockProjectSql, webhook)
  if (await db.one(existsSql, webhook)) return 'created'
  if (((await db.one(countSql, webhook))?.count ?? 0) >= limit) return 'limit_reached'
  await db.run(insertSql, webhookColumns(webhook))
  await subscribe(db, webhook)
  return 'created'
}

async function subscribe(db: Queries, { id, projectId, events }: Webhook): Promise<void> {
  // One row per event, so that the webhook gets one delivery. The wildcard contains all names.
  await db.run(subscribeSql, {
    id,
    projectId,
    names: events.includes('*') ? ['*'] : [...new Set(events)],
  })
}

async function change(db: Queries, ref: Ref, changes: WebhookChange): Promise<Webhook | undefined> {
  const row = await db.one(lockSql, ref)
  if (!row) return undefined
  const changed = changeWebhook(toWebhook(row), changes)
  await db.run(updateWebhook, webhookColumns(changed))
  await db.run(unsubscribeSql, ref)
  await subscribe(db, changed)
  return changed
}

async function rotateSecret(
  db: Queries,
  ref: Ref,
  { secret, previousUntil, updatedAt }: SecretRotation,
): Promise<Webhook | undefined> {
  const row = await db.one(lockSql, ref)
  if (!row) return undefined
  const webhook = toWebhook(row)
  const rotated = {
    ...webhook,
    secret,
    previousSecret: { secret: webhook.secret, until: previousUntil },
    updatedAt,
  }
  await db.run(updateWebhook, webhookColumns(rotated))
  return rotated
}

async function reseal(db: Queries, step: ResealStep<Webhook>): Promise<ResealedRows> {
  const { after, limit } = step
  const { changed, result } = resealRows(await db.all(afterSql, { after, limit }), toWebhook, step)
  for (const webhook of changed) await db.run(updateWebhook, webhookColumns(webhook))
  return result
}

async function remove(db: Queries, ref: Ref): Promise<boolean> {
  if (!(await db.one(lockSql, ref))) return false
  await db.run(unsubscribeSql, ref)
  await db.run(eraseSql, ref)
  return true
}

async function pageOf(db: Queries, projectId: string, page: PageOf): Promise<Page<Webhook>> {
  const rows = await db.all(newestSql, {
    projectId,
    before: await start(db, page),
    rows: page.limit + 1,
  })
  return toPage(rows, page.limit, toWebhook)
}
