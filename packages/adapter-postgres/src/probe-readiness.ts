import type { Instant } from '@org/agent-messaging-core/storage'
import type { Queries } from './database.js'
import { sql } from './sql.js'

type Webhooks = { readonly ids: readonly string[]; readonly now: Instant }

const lockSql = sql<Webhooks>(`
  select 1 from agent_messaging.webhooks where id = any(@ids::text[]) and circuit_until > @now
  order by seq for no key update`)
const readySql = sql<Webhooks>(`
  update agent_messaging.webhooks set circuit_until = @now
  where id = any(@ids::text[]) and circuit_until > @now`)

/** Makes open circuits of these webhooks half-open, within a transaction. */
export async function makeReadyToProbe(
  db: Queries,
  ids: readonly string[],
  now: Instant,
): Promise<void> {
  if ((await db.run(lockSql, { ids, now })) > 0) await db.run(readySql, { ids, now })
}

/**
 * Makes circuits half-open that these claims hold open as probes. The end of the claim's lease in
 * the webhook's row tells. Must run before the deliveries change. Skips a locked webhook until the
 * lease ends, because its transaction can be waiting for one of the deliveries.
 *
 * `claims` selects `webhook_seq` and `due_at` of deliveries that are being sent, and locks them.
 */
export const releaseProbesSql = <Claims extends { readonly now: Instant }>(claims: string) =>
  sql<Claims>(`
    update agent_messaging.webhooks set circuit_until = @now where seq in (
      select w.seq from (${claims}) held
        join agent_messaging.webhooks w
          on w.seq = held.webhook_seq and w.circuit_until = held.due_at
      where w.circuit_until > @now for no key update of w skip locked)`)
