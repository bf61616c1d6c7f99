import { toWebhook, type WebhookRow } from '@org/agent-messaging-core/storage'
import { webhookList } from '@org/agent-messaging-sql-kit'
import type { Queries } from '../database/gateway.js'
import type { StoredWebhook } from './receivers.js'
import { sql } from '../database/sql.js'

// Hooks of messages are rows of `webhooks`. A change of a hook locks the session of its message, as
// the end of a run does.

/** The hooks of some messages. The version of a message changes with each change of its hooks. */
export type Hooks = ReadonlyMap<string, HooksOfMessage>
type HooksOfMessage = { readonly version: number; readonly receivers: readonly StoredWebhook[] }
export const NO_HOOKS: Hooks = new Map()

type Ids = { readonly messageIds: readonly string[] }

/** A message without present hooks has one row, whose webhook is null. */
const hooksSql = sql<Ids, { [C in keyof WebhookRow]: WebhookRow[C] | null } & HookVersion>(`
  select m.id as "of", m.hooks as version, ${webhookList}
  from agent_messaging.messages m
    left join agent_messaging.webhooks w on w.message_id = m.id and not w.is_deleted
  where m.hooks is not null and m.id = any(@messageIds::text[])
  order by w.seq`)
type HookVersion = { readonly of: string; readonly version: number }

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
