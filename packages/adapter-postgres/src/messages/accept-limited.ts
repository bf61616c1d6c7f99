import type { Accepted, NewMessage } from '@org/agent-messaging-core/storage'
import type { Queries } from '../database/gateway.js'
import { jsonRows, sql } from '../database/sql.js'
import type { KnownHooks } from '../webhooks/receivers.js'
import { acceptAll } from './accept-message.js'
import { withTokens } from './send-buckets.js'

const knownSql = sql<{ readonly messages: string }, { readonly id: string }>(`
  select g.id
  from jsonb_to_recordset(@messages::jsonb) as g (id text, "agentId" text, "idempotencyKey" text)
  where exists (select from agent_messaging.messages m where m.id = g.id)
    or exists (select from agent_messaging.messages m
      where m.agent_id = g."agentId" and m.idempotency_key = g."idempotencyKey")`)

/** `MessageStore.accept` for a batch of messages with `takes`, in a transaction. */
export const acceptLimited = (
  db: Queries,
  all: readonly NewMessage[],
  hooks: KnownHooks,
): Promise<Accepted[]> =>
  withTokens(db, all, {
    tokensOf: async (messages) => {
      const keys = messages.map(({ id, agentId, idempotencyKey }) => ({
        id,
        agentId,
        idempotencyKey,
      }))
      const known = await db.all(knownSql, { messages: jsonRows(keys) })
      const replays = new Set(known.map(({ id }) => id))
      return messages.map(({ id }) => (replays.has(id) ? 0 : 1))
    },
    nowOf: ({ now }) => now,
    commit: (taken) => acceptAll(db, taken, hooks),
    usedBy: ({ kind }) => (kind === 'created' || kind === 'claimed' ? 1 : 0),
  })
