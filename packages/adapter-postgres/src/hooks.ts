import {
  decideHook,
  insertList,
  isHook,
  toWebhook,
  WEBHOOK_COLUMNS,
  webhookColumns,
  type HookOfMessage,
  type HookSet,
  type MessageRef,
  type WebhookColumns,
  type WebhookRow,
} from '@org/agent-messaging-core/storage'
import type { Queries } from './database.js'
import { messageByRef } from './message-row.js'
import { removeDeliveries } from './purge.js'
import type { Receiver } from './receivers.js'
import { lockSessionsOf } from './sessions.js'
import { sql } from './sql.js'
import { updateWebhook, webhookList } from './webhook-row.js'

// Hooks of messages are rows of `webhooks`. A change of a hook locks the session of its message, as
// the end of a run does.

/** The hooks of some messages. The version of a message changes with each change of its hooks. */
export type Hooks = ReadonlyMap<string, HooksOfMessage>
type HooksOfMessage = { readonly version: number; readonly receivers: readonly Receiver[] }
export const NO_HOOKS: Hooks = new Map()

type Ids = { readonly messageIds: readonly string[] }
type Id = { readonly messageId: string }
type Named = Id & { readonly name: string }
type StoredHook = { readonly id: string; readonly name: string; readonly isDeleted: boolean }
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

const storedSql = sql<Id, StoredHook>(`
  select id, hook_name as name, is_deleted as "isDeleted" from agent_messaging.webhooks
  where message_id = @messageId`)
const presentSql = sql<Id, WebhookRow>(`
  select ${webhookList} from agent_messaging.webhooks w
  where w.message_id = @messageId and not w.is_deleted order by w.seq`)
const insertSql = sql<WebhookColumns>(
  `insert into agent_messaging.webhooks ${insertList(WEBHOOK_COLUMNS)}`,
)
const noteSql = sql<Id>(
  'update agent_messaging.messages set hooks = coalesce(hooks, 0) + 1 where id = @messageId',
)
const eraseSql = sql<Named>(`
  update agent_messaging.webhooks
  set url = '', secret = '', header_names = null, headers = null, is_deleted = true
  where message_id = @messageId and hook_name = @name and not is_deleted`)
const endedSql = sql<object, Seq>(`
  select seq from agent_messaging.webhooks where is_deleted and message_id is not null
  order by seq limit 1 for update skip locked`)
const deliveriesSql = sql<Seq & { readonly limit: number }, Delivery>(`
  select seq, project_id as "projectId", event_seq as "eventSeq" from agent_messaging.deliveries
  where webhook_seq = @seq order by seq desc limit @limit for update`)
const removeSql = sql<Seq>('delete from agent_messaging.webhooks where seq = @seq')

/** Reads the hooks and their versions with one statement. */
export async function readHooks(db: Queries, messageIds: readonly string[]): Promise<Hooks> {
  const hooks = new Map<string, { version: number; receivers: Receiver[] }>()
  for (const { of, version, ...row } of await db.all(hooksSql, { messageIds })) {
    const known = hooks.get(of) ?? { version, receivers: [] }
    hooks.set(of, known)
    if (isWebhook(row)) known.receivers.push({ seq: row.seq, webhook: toWebhook(row) })
  }
  return hooks
}

const isWebhook = (row: { readonly seq: number | null }): row is WebhookRow => row.seq !== null

/** `WebhookStore.setHook`, within a transaction. */
export async function setHook(
  db: Queries,
  hook: HookOfMessage,
  agentId: string,
  limit: number,
): Promise<HookSet> {
  const { messageId } = hook.hook
  await lockSessionsOf(db, messageId)
  const message = await db.one(messageByRef, { projectId: hook.projectId, agentId, messageId })
  if (!message) return 'message_not_found'
  const decided = decideHook(await db.all(storedSql, { messageId }), hook, limit)
  if (decided === 'insert') await insertHook(db, hook)
  else if (decided === 'update') await db.run(updateWebhook, webhookColumns(hook))
  else return decided
  return 'set'
}

/** Stores a new hook, and notes on its message that it has hooks. Within a transaction. */
export async function insertHook(db: Queries, hook: HookOfMessage): Promise<void> {
  await db.run(insertSql, webhookColumns(hook))
  await db.run(noteSql, hook.hook)
}

/** `WebhookStore.hooksOf`. */
export async function listHooks(db: Queries, ref: MessageRef): Promise<HookOfMessage[]> {
  if (!(await db.one(messageByRef, ref))) return []
  return (await db.all(presentSql, ref)).map(toWebhook).filter(isHook)
}

/** `WebhookStore.deleteHook`, within a transaction. */
export async function deleteHook(db: Queries, ref: MessageRef, name: string): Promise<boolean> {
  if (!(await db.one(messageByRef, ref))) return false
  return (await db.run(eraseSql, { messageId: ref.messageId, name })) > 0
}

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
