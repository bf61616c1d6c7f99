import {
  takenMicros,
  takeTokens,
  type BucketLevel,
  type TokenTake,
} from '@org/agent-messaging-core/storage'
import type { Instant } from '@org/agent-messaging-core'
import type { Queries } from '../database/gateway.js'
import { jsonRows, sql } from '../database/sql.js'

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

type Levels = readonly BucketLevel[]
type Limited = { readonly takes?: readonly TokenTake[] }
type RateLimited = { readonly kind: 'rate_limited'; readonly levels: Levels }

type Work<In, Out> = {
  /** Returns how many tokens each input takes: 0 for a replay. Called when the buckets are locked. */
  readonly tokensOf: (all: readonly In[]) => Promise<readonly number[]>
  readonly nowOf: (input: In) => Instant
  readonly commit: (sent: readonly In[]) => Promise<readonly Out[]>
  /** Returns how many tokens an input has used. The others go back. */
  readonly usedBy: (result: Out) => number
}

/**
 * Commits a batch of inputs with `takes`, in a transaction. The locks on the buckets come first and
 * in one order. Processes that share a bucket wait for each other's commit.
 */
export async function withTokens<In extends Limited, Out>(
  db: Queries,
  all: readonly In[],
  { tokensOf, nowOf, commit, usedBy }: Work<In, Out>,
): Promise<(Out | RateLimited)[]> {
  const ids = [
    ...new Set(all.flatMap(({ takes = [] }) => takes.map(({ bucket }) => bucket))),
  ].sort()
  const full = await lockBuckets(db, ids)
  const tokens = await tokensOf(all)
  const asked = all.map((input, at) => {
    const { takes = [] } = input
    const count = tokens[at] ?? 0
    if (count === 0) return { input, takes: [], count, isTaken: true }
    const { isTaken, levels, fullTimes } = takeTokens(takes, full, nowOf(input), count)
    for (const [bucket, fullAt] of fullTimes) full.set(bucket, fullAt)
    return { input, takes, count, isTaken, levels }
  })
  const results = await commit(asked.flatMap(({ input, isTaken }) => (isTaken ? input : [])))
  const next = results.values()
  const decided = asked.map(({ takes, count, isTaken, levels = [] }): Out | RateLimited => {
    if (!isTaken) return { kind: 'rate_limited', levels }
    const result = next.next().value as Out
    const used = usedBy(result)
    for (const { bucket, limit } of takes) {
      const rest = takenMicros(limit, count) - takenMicros(limit, used)
      full.set(bucket, (full.get(bucket) ?? 0) - rest)
    }
    return used === 0 || takes.length === 0 ? result : { ...result, levels }
  })
  const buckets = jsonRows(ids.map((id) => ({ id, fullAt: full.get(id) ?? 0 })))
  await db.run(storeSql, { buckets })
  return decided
}

async function lockBuckets(db: Queries, ids: readonly string[]): Promise<Map<string, number>> {
  const rows = await db.all(lockSql, { ids })
  if (rows.length === ids.length) return new Map(rows.map(({ id, fullAt }) => [id, fullAt]))
  await db.run(createSql, { ids })
  return new Map((await db.all(lockSql, { ids })).map(({ id, fullAt }) => [id, fullAt]))
}
