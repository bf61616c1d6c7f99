import type { Instant } from '@org/agent-messaging-core/storage'
import { sql } from '../database/sql.js'

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
