import {
  API_KEY_COLUMNS,
  selectList,
  toApiKey,
  type ApiKey,
  type ApiKeyRow,
} from '@org/agent-messaging-core/storage'
import type { Queries } from '../database/gateway.js'
import { sql } from '../database/sql.js'

const byDigestsSql = sql<
  { readonly digests: readonly string[] },
  ApiKeyRow & { readonly digest: string }
>(`
  select digest, ${selectList(API_KEY_COLUMNS)} from agent_messaging.api_keys
  where digest = any(@digests::text[])`)

/** Finds the keys of many requests at once. Most requests use the same key. */
export async function findKeys(
  db: Queries,
  digests: readonly string[],
): Promise<(ApiKey | undefined)[]> {
  const rows = await db.all(byDigestsSql, { digests: [...new Set(digests)] })
  const keys = new Map(rows.map(({ digest, ...row }) => [digest, toApiKey(row)]))
  return digests.map((digest) => keys.get(digest))
}
