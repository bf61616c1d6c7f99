import { createHash } from 'node:crypto'
import type { DeliveryAttempt } from '@org/agent-messaging-core'
import type { Queries } from './database.js'
import { sql } from './sql.js'

type Headers = DeliveryAttempt['requestHeaders']
type Seq = { readonly seq: number }
export type HeaderColumns = { readonly headerNamesSeq: number | null; readonly headerValues: string | null }

const knownSql = sql<{ readonly digest: string }, Seq>('select seq from agent_messaging.header_names where digest = @digest')
const addSql = sql<{ readonly digest: string; readonly names: string }, Seq>(
  'insert into agent_messaging.header_names (digest, names) values (@digest, @names) returning seq',
)

/**
 * Within a transaction: the columns that hold these headers. The names are kept once for all attempts that have the same; they are
 * known by a digest, since an index does not hold texts of any length.
 */
export async function headerColumns(db: Queries, headers: Headers): Promise<HeaderColumns> {
  if (!headers) return { headerNamesSeq: null, headerValues: null }
  const names = Object.keys(headers).join('\n')
  const digest = createHash('sha256').update(names).digest('base64')
  const row = (await db.one(knownSql, { digest })) ?? (await db.one(addSql, { digest, names }))
  // What was ever sent as a header holds no line break.
  return { headerNamesSeq: row?.seq ?? null, headerValues: Object.values(headers).join('\n') }
}

/** The inverse of `headerColumns`, given the names. */
export function toHeaders(names: string | null, values: string | null): { requestHeaders?: Record<string, string> } {
  if (names === null || values === null) return {}
  const each = values.split('\n')
  return { requestHeaders: Object.fromEntries(names.split('\n').map((name, at) => [name, each[at] ?? ''])) }
}
