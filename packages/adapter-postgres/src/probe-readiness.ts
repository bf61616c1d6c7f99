import type { Instant } from '@org/agent-messaging-core'
import type { Queries } from './database.js'
import { sql } from './sql.js'

type Webhooks = { readonly ids: readonly string[]; readonly now: Instant }

const lockSql = sql<Webhooks>(`
  select 1 from agent_messaging.webhooks where id = any(@ids::text[]) and circuit_until > @now order by seq for no key update`)
const readySql = sql<Webhooks>(
  'update agent_messaging.webhooks set circuit_until = @now where id = any(@ids::text[]) and circuit_until > @now',
)

/** `readyToProbe` in the core, of each of these webhooks, within a transaction. */
export async function makeReadyToProbe(db: Queries, ids: readonly string[], now: Instant): Promise<void> {
  if ((await db.run(lockSql, { ids, now })) > 0) await db.run(readySql, { ids, now })
}
