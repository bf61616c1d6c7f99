import { toWebhook, type WebhookRow } from '@org/agent-messaging-core/storage'
import { webhookList } from '@org/agent-messaging-sql-kit'
import type { Queries } from '../database/database.js'
import { removeDeliveries } from '../maintenance/purge.js'
import type { StoredWebhook } from './receivers.js'
import { sql } from '../database/sql.js'

// Hooks of messages are rows of `webhooks`. A change of a hook locks the session of its message, as
// the end of a run does.

/** The hooks of some messages. The version of a message changes with each change of its hooks. */
export type Hooks = ReadonlyMap<string, HooksOfMessage>
type HooksOfMessage = { readonly version: number; readonly receivers: readonly StoredWebhook[] }
export const NO_HOOKS: Hooks = new Map()

type Ids = { readonly messageIds: readonly string[] }
type Seq = { readonly seq: number }
type Delivery = Seq & { readonly projectId: string; readonly eventSeq: number }

/** A message without present hooks has one row, whose webhook is null. */
const hooksSql = sql<Ids, { [C in keyof WebhookRow]: WebhookRow[C] | null } & HookVersion>(`
  select m.id as "of", m.hooks as version, ${webhookList}
  from agent_messaging.messages m
    left join agent_messaging.webhooks w on w.message_id = m.id and not w.is_deleted
  where m.hooks is not null and m.id = any(@messageIds::text[])
  order by w.seq`)
type HookVersion = { readonly of: string; readonly version: number }

const endedSql = sql<object, Seq>(`
  select seq from agent_messaging.webhooks where is_deleted and message_id is not null
  order by seq limit 1 for update skip locked`)
const deliveriesSql = sql<Seq & { readonly limit: number }, Delivery>(`
  select seq, project_id as "projectId", event_seq as "eventSeq" from agent_messaging.deliveries
  where webhook_seq = @seq order by seq desc limit @limit for update`)
const removeSql = sql<Seq>('delete from agent_messaging.webhooks where seq = @seq')

/** Reads the hooks and their versions with one statement. */
export async function readHooks(db: Queries, messageIds: readonly string[]): Promise<Hooks> {
  const hooks = new Map<string, { version: number; receivers: StoredWebhook[] }>()
  for (const { of, version, ...row } of await db.all(hooksSql, { messageIds })) {
    const known = hooks.get(of) ?? { version, receivers: [] }
    hooks.set(of, known)
    if (isWebhook(row)) known.receivers.push({ seq: row.seq, webhook: toWebhook(row) })
  }
  return hooks
}

const isWebhook = (row: { readonly seq: number | null }): row is WebhookRow => row.seq !== null

/** Deletes up to `limit` rows of deleted hooks and their deliveries. Returns how many. */
export async function sweepHooks(db: Queries, limit: number): Promise<number> {
  let removed = 0
  while (removed < limit) {
    const hook = await db.one(endedSql, {})
    if (!hook) break
    const deliveries = await db.all(deliveriesSql, { ...hook, limit: limit - removed })
    // The log keeps the events.
    if (deliveries.length > 0) await removeDeliveries(db, deliveries, 0)
    removed += deliveries.length
    if (removed < limit) removed += await db.run(removeSql, hook)
  }
  return removed
}
