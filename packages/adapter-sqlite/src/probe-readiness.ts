import type { Database } from 'better-sqlite3'
import type { Instant } from '@org/agent-messaging-core'
import type { WebhookRows } from './webhook-rows.js'

/** `readyToProbe` in the core, within a transaction. */
export function probeReadiness(db: Database, webhooks: WebhookRows): (webhookId: string, now: Instant) => void {
  const ready = db.prepare<{ id: string; now: Instant }>('update webhooks set circuit_until = @now where id = @id and circuit_until > @now')
  return (id, now) => {
    if (ready.run({ id, now }).changes > 0) webhooks.changed()
  }
}
