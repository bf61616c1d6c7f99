import {
  takeTokens,
  tokenMicros,
  type Accepted,
  type NewMessage,
} from '@org/agent-messaging-core/storage'
import { acceptAll } from './accept-message.js'
import type { Queries } from '../database/gateway.js'
import { jsonRows, sql } from '../database/sql.js'
import type { KnownHooks } from '../webhooks/receivers.js'

type Ids = { readonly ids: readonly string[] }

const createSql = sql<Ids>(`
  insert into agent_messaging.send_buckets (id, full_at) select id, 0 from unnest(@ids::text[]) as id
  on conflict do nothing`)
const lockSql = sql<Ids, { readonly id: string; readonly fullAt: number }>(`
  select id, full_at as "fullAt" from agent_messaging.send_buckets where id = any(@ids::text[])
  order by id for update`)
const storeSql = sql<{ readonly buckets: string }>(`
  update agent_messaging.send_buckets b set full_at = g."fullAt"
  from jsonb_to_recordset(@buckets::jsonb) as g (id text, "fullAt" bigint) where b.id = g.id`)
const knownSql = sql<{ readonly messages: string }, { readonly id: string }>(`
  select g.id
  from jsonb_to_recordset(@messages::jsonb) as g (id text, "agentId" text, "idempotencyKey" text)
  where exists (select from agent_messaging.messages m where m.id = g.id)
    or exists (select from agent_messaging.messages m
      where m.agent_id = g."agentId" and m.idempotency_key = g."idempotencyKey")`)

/**
 * `MessageStore.accept` for a batch of messages with `takes`, in a transaction. The locks on the
 * buckets come first and in one order. Processes that share a bucket wait for each other's commit.
 */
export async function acceptLimited(
  db: Queries,
  all: readonly NewMessage[],
  hooks: KnownHooks,
): Promise<Accepted[]> {
  const ids = [
    ...new Set(all.flatMap(({ takes = [] }) => takes.map(({ bucket }) => bucket))),
  ].sort()
  const full = await lockBuckets(db, ids)
  const known = await db.all(knownSql, {
    messages: jsonRows(
      all.map(({ id, agentId, idempotencyKey }) => ({ id, agentId, idempotencyKey })),
    ),
  })
  const replays = new Set(known.map(({ id }) => id))
  const asked = all.map((message) => {
    if (replays.has(message.id)) return { message, isTaken: true }
    const { isTaken, levels, fullTimes } = takeTokens(message.takes ?? [], full, message.now)
    for (const [bucket, fullAt] of fullTimes) full.set(bucket, fullAt)
    return { message, isTaken, levels }
  })
  const sent = asked.flatMap(({ message, isTaken }) => (isTaken ? message : []))
  const accepted = await acceptAll(db, sent, hooks)
  const acceptedById = new Map(sent.map(({ id }, at) => [id, accepted[at]]))
  const results = asked.map(({ message, levels }): Accepted => {
    const result = acceptedById.get(message.id)
    if (!result) return { kind: 'rate_limited', levels: levels ?? [] }
    if (!levels) return result
    if (result.kind === 'created' || result.kind === 'claimed') return { ...result, levels }
    // Nothing was stored, so the tokens go back.
    for (const { bucket, limit } of message.takes ?? [])
      full.set(bucket, (full.get(bucket) ?? 0) - tokenMicros(limit))
    return result
  })
  const buckets = jsonRows(ids.map((id) => ({ id, fullAt: full.get(id) ?? 0 })))
  await db.run(storeSql, { buckets })
  return results
}

async function lockBuckets(db: Queries, ids: readonly string[]): Promise<Map<string, number>> {
  const rows = await db.all(lockSql, { ids })
  if (rows.length === ids.length) return new Map(rows.map(({ id, fullAt }) => [id, fullAt]))
  await db.run(createSql, { ids })
  return new Map((await db.all(lockSql, { ids })).map(({ id, fullAt }) => [id, fullAt]))
}
