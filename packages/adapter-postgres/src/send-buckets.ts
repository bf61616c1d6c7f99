import {
  takeTokens,
  tokenMicros,
  type Accepted,
  type NewMessage,
} from '@org/agent-messaging-core/storage'
import { acceptAll } from './accept-message.js'
import type { Queries } from './database.js'
import { sql } from './sql.js'

type Ids = { readonly ids: readonly string[] }
type Keys = Ids & {
  readonly agentIds: readonly string[]
  readonly keys: readonly (string | null)[]
}

const createSql = sql<Ids>(`
  insert into agent_messaging.send_buckets (id, full_at) select id, 0 from unnest(@ids::text[]) as id
  on conflict do nothing`)
const lockSql = sql<Ids, { readonly id: string; readonly fullAt: number }>(`
  select id, full_at as "fullAt" from agent_messaging.send_buckets where id = any(@ids::text[])
  order by id for update`)
const storeSql = sql<Ids & { readonly fullAts: readonly number[] }>(`
  update agent_messaging.send_buckets b set full_at = g.full_at
  from unnest(@ids::text[], @fullAts::bigint[]) as g (id, full_at) where b.id = g.id`)
const knownSql = sql<Keys, { readonly place: number }>(`
  select g.place
  from unnest(@ids::text[], @agentIds::text[], @keys::text[])
    with ordinality as g (id, agent_id, key, place)
  where exists (select from agent_messaging.messages m where m.id = g.id)
    or exists (select from agent_messaging.messages m
      where m.agent_id = g.agent_id and m.idempotency_key = g.key)`)

/**
 * `MessageStore.accept` for a batch of messages with `takes`, in a transaction. The locks on the
 * buckets come first and in one order. Processes that share a bucket wait for each other's commit.
 */
export async function acceptLimited(db: Queries, all: readonly NewMessage[]): Promise<Accepted[]> {
  const ids = [
    ...new Set(all.flatMap(({ takes = [] }) => takes.map(({ bucket }) => bucket))),
  ].sort()
  const full = await lockBuckets(db, ids)
  const known = await db.all(knownSql, {
    ids: all.map(({ id }) => id),
    agentIds: all.map(({ agentId }) => agentId),
    keys: all.map(({ idempotencyKey }) => idempotencyKey ?? null),
  })
  const replays = new Set(known.map(({ place }) => place - 1))
  const places = all.map((message, at) => {
    const { takes = [], now } = message
    if (replays.has(at)) return { message }
    const { isTaken, levels, fullTimes } = takeTokens(takes, full, now)
    for (const [bucket, fullAt] of fullTimes) full.set(bucket, fullAt)
    return isTaken ? { message, levels } : { levels }
  })
  const accepted = await acceptAll(
    db,
    places.flatMap(({ message }) => message ?? []),
  )
  const results = places.map(({ message, levels }): Accepted => {
    const result = message && accepted.shift()
    if (!result) return { kind: 'rate_limited', levels: levels ?? [] }
    if (!levels) return result
    if (result.kind === 'created' || result.kind === 'claimed') return { ...result, levels }
    // Nothing was stored, so the tokens go back.
    for (const { bucket, limit } of message.takes ?? [])
      full.set(bucket, (full.get(bucket) ?? 0) - tokenMicros(limit))
    return result
  })
  await db.run(storeSql, { ids, fullAts: ids.map((id) => full.get(id) ?? 0) })
  return results
}

async function lockBuckets(db: Queries, ids: readonly string[]): Promise<Map<string, number>> {
  const rows = await db.all(lockSql, { ids })
  if (rows.length === ids.length) return new Map(rows.map(({ id, fullAt }) => [id, fullAt]))
  await db.run(createSql, { ids })
  return new Map((await db.all(lockSql, { ids })).map(({ id, fullAt }) => [id, fullAt]))
}
