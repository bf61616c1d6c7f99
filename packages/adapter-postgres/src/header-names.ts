import { createHash } from 'node:crypto'
import { headerLines, type DeliveryAttempt } from '@org/agent-messaging-core/storage'
import type { Queries } from './database.js'
import { sql } from './sql.js'

type Headers = DeliveryAttempt['requestHeaders']
type HeaderColumns = {
  readonly headerNamesSeq: number | null
  readonly headerValues: string | null
}
/** The names of headers are kept once for all attempts that have the same. None is deleted. */
export type HeaderNames = {
  columnsOf(db: Queries, all: readonly Headers[]): Promise<HeaderColumns[]>
}

/** A webhook's own headers make its names its own. */
const MOST_KNOWN = 10_000

/** Known by a digest, since an index does not hold texts of any length. Two at once insert the same one in the same order. */
const keepSql = sql<{ readonly digests: readonly string[]; readonly names: readonly string[] }>(`
  insert into agent_messaging.header_names (digest, names)
  select digest, names from unnest(@digests::text[], @names::text[]) as given (digest, names) order by digest on conflict do nothing`)
const seqsSql = sql<
  { readonly digests: readonly string[] },
  { readonly seq: number; readonly names: string }
>('select seq, names from agent_messaging.header_names where digest = any(@digests::text[])')

export function headerNames(mostKnown = MOST_KNOWN): HeaderNames {
  let known = new Map<string, number>()

  /** Only what was there before is remembered: what is inserted here may yet be rolled back. */
  async function find(
    db: Queries,
    known: Map<string, number>,
    names: readonly string[],
  ): Promise<ReadonlyMap<string, number>> {
    if (names.length === 0) return known
    const digests = names.map((text) => createHash('sha256').update(text).digest('base64'))
    for (const row of await db.all(seqsSql, { digests })) known.set(row.names, row.seq)
    if (names.every((some) => known.has(some))) return known
    await db.run(keepSql, { digests, names })
    return new Map([
      ...known,
      ...(await db.all(seqsSql, { digests })).map((row) => [row.names, row.seq] as const),
    ])
  }

  return {
    columnsOf: async (db, all) => {
      // Another one, and not emptied: who is at it goes on with the one that it has.
      if (known.size > mostKnown) known = new Map()
      const ours = known
      const names = all.map((headers) => headers && headerLines(headers).names)
      const unknown = new Set(
        names.filter((some) => some !== undefined && !ours.has(some)) as string[],
      )
      const seqs = await find(db, ours, [...unknown])
      return all.map((headers, at) => ({
        headerNamesSeq: seqs.get(names[at] ?? '') ?? null,
        headerValues: headers ? headerLines(headers).values : null,
      }))
    },
  }
}
