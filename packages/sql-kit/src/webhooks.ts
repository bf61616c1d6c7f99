import {
  changeWebhook,
  toWebhook,
  webhookColumns,
  widestOf,
  type WebhookRow,
  type WebhookStore,
} from '@org/agent-messaging-core/storage'
import { record } from './audit.js'
import type { Dialect } from './dialect.js'
import { hookMethods } from './hooks.js'
import { one, run, sql, type Runner } from './operation.js'
import { pagesOf, resealing, countIn, lockProject } from './pages.js'
import { eraseWebhooks, insertWebhook, selectWebhook, updateWebhook } from './webhook-rows.js'

type Ref = { readonly projectId: string; readonly id: string }
type Subscriptions = {
  readonly projectId: string
  readonly seq: number
  readonly names: readonly string[]
}

/** Not deleted, and no hook of a message. */
const present = ({ not }: Dialect): string => `${not('is_deleted')} and message_id is null`
const select = (d: Dialect): string =>
  `${selectWebhook(d)} where w.project_id = @projectId and ${present(d)}`

const get = sql<Ref, WebhookRow>((d) => `${select(d)} and w.id = @id`)
const lock = sql<Ref, WebhookRow>((d) => `${get(d)} ${d.lock('no key update')}`)
const exists = sql<Pick<Ref, 'id'>>(
  ({ schema }) => `select 1 from ${schema}webhooks where id = @id`,
)
const count = countIn('webhooks', present)
const erase = sql<Pick<WebhookRow, 'seq'>>((d) => `${eraseWebhooks(d)} where seq = @seq`)
const unsubscribe = sql<Omit<Subscriptions, 'names'>>(
  ({ schema }) =>
    `delete from ${schema}subscriptions where project_id = @projectId and webhook_seq = @seq`,
)
const subscribe = sql<Subscriptions>(
  ({ schema, each }) => `
    insert into ${schema}subscriptions (project_id, event, webhook_seq)
    select @projectId, value, @seq from ${each('names')}`,
)

export const webhookStore = (runner: Runner): WebhookStore => ({
  create: runner.write(function* (webhook, limit, audit) {
    yield* run(lockProject, webhook)
    if (yield* one(exists, webhook)) return 'created'
    if ((yield* count(webhook)) >= limit) return 'limit_reached'
    const row = yield* one(insertWebhook, webhookColumns(webhook))
    if (row) yield* run(subscribe, { ...webhook, ...row, names: widestOf(webhook.events) })
    yield* record(audit, webhook)
    return 'created'
  }),
  get: runner.read(function* (projectId, id) {
    const row = yield* one(get, { projectId, id })
    return row && toWebhook(row)
  }),
  list: runner.read(pagesOf('webhooks', select, toWebhook)),
  update: runner.write(function* (projectId, id, changes, audit) {
    const row = yield* one(lock, { projectId, id })
    if (!row) return undefined
    const before = toWebhook(row)
    const after = changeWebhook(before, changes)
    yield* run(updateWebhook, webhookColumns(after))
    if (after.events !== before.events) {
      yield* run(unsubscribe, row)
      yield* run(subscribe, { ...row, names: widestOf(after.events) })
    }
    yield* record(audit, after, before)
    return after
  }),
  delete: runner.write(function* (projectId, id, audit) {
    const row = yield* one(lock, { projectId, id })
    if (!row) return false
    yield* run(unsubscribe, row)
    yield* run(erase, row)
    yield* record(audit, toWebhook(row))
    return true
  }),
  reseal: runner.write(
    resealing(
      (d) => `${selectWebhook(d)} where ${d.not('w.is_deleted')} and w.secret <> '' and`,
      toWebhook,
      updateWebhook,
      webhookColumns,
    ),
  ),
  ...hookMethods(runner),
})
