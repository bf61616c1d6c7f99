import { createHash } from 'node:crypto'
import { headerLines, type DeliveryAttempt } from '@org/agent-messaging-core/storage'
import type { Queries } from '../database/gateway.js'
import { sql } from '../database/sql.js'

type Headers = DeliveryAttempt['requestHeaders']
type HeaderColumns = {
  readonly headerNamesSeq: number | null
  readonly headerValues: string | null
}
/** Stores each list of header names once, for all attempts that have it. No list is deleted. */
export type HeaderNames = {
  columnsOf(db: Queries, all: readonly Headers[]): Promise<HeaderColumns[]>
}

/** Each webhook with its own headers has its own list. */
const MAX_KNOWN = 10_000

/**
 * Finds lists by their digest, because an index cannot contain texts of any length. Two
 * transactions insert the same digests in the same order.
 */
const insertSql = sql<{ readonly digests: readonly string[]; readonly names: readonly string[] }>(`
  insert into agent_messaging.header_names (digest, names)
  select digest, names from unnest(@digests::text[], @names::text[]) as given (digest, names)
  order by digest on conflict do nothing`)
const seqsSql = sql<
  { readonly digests: readonly string[] },
  { readonly seq: number; readonly names: string }
>('select seq, names from agent_messaging.header_names where digest = any(@digests::text[])')

export function headerNames(maxKnown = MAX_KNOWN): HeaderNames {
  /** The `seq` of each list, by the list. */
  let known = new Map<string, number>()

  /** Remembers only lists that were committed before: an insert of this call can be rolled back. */
  async function find(
    db: Queries,
    known: Map<string, number>,
    names: readonly string[],
  ): Promise<ReadonlyMap<string, number>> {
    if (names.length === 0) return known
    const digests = names.map((text) => createHash('sha256').update(text).digest('base64'))
    for (const row of await db.all(seqsSql, { digests })) known.set(row.names, row.seq)
    if (names.every((some) => known.has(some))) return known
    await db.run(insertSql, { digests, names })
    const inserted = await db.all(seqsSql, { digests })
    return new Map([...known, ...inserted.map((row) => [row.names, row.seq] as const)])
  }

  return {
    columnsOf: async (db, all) => {
      // Concurrent calls keep their map, so a full one is replaced and not cleared.
      if (known.size > maxKnown) known = new Map()
      const current = known
      const names = all.map((headers) => headers && headerLines(headers).names)
      const unknown = new Set(
        names.filter((some) => some !== undefined && !current.has(some)) as string[],
      )
      const seqs = await find(db, current, [...unknown])
      return all.map((headers, at) => ({
        headerNamesSeq: seqs.get(names[at] ?? '') ?? null,
        headerValues: headers ? headerLines(headers).values : null,
      }))
    },
  }
}
