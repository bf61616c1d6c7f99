import type { Database } from 'better-sqlite3'
import type { Instant } from '@org/agent-messaging-core'

/** `readyToProbe` in the core, within a transaction. */
export function probeReadiness(db: Database): (webhookId: string, now: Instant) => void {
  const ready = db.prepare<{ id: string; now: Instant }>('update webhooks set circuit_until = @now where id = @id and circuit_until > @now')
  return (id, now) => void ready.run({ id, now })
}
