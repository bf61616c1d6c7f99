import type { Database } from 'better-sqlite3'
import type { Instant } from '@org/agent-messaging-core/storage'
import type { WebhookRows } from '../webhooks/receivers.js'

/**
 * Lets a webhook's open circuit be probed now, like `readyToProbe` in core. Call it in a
 * transaction.
 */
export function probeReadiness(
  db: Database,
  webhooks: WebhookRows,
): (webhookId: string, now: Instant) => void {
  const ready = db.prepare<{ id: string; now: Instant }>(
    'update webhooks set circuit_until = @now where id = @id and circuit_until > @now',
  )
  return (id, now) => {
    if (ready.run({ id, now }).changes > 0) webhooks.changed()
  }
}

type Claims = { readonly now: Instant } & Readonly<Record<string, string | number>>

/**
 * Does the same for the webhooks whose probe is one of these claims. A probe holds the circuit open
 * to the end of its lease. Call it before the deliveries change. `which` is a condition on
 * deliveries, whose parameters are in `claims`.
 */
export function probeRelease(
  db: Database,
  webhooks: WebhookRows,
  which: string,
): (claims: Claims) => void {
  const release = db.prepare<[Claims]>(`
    update webhooks set circuit_until = @now
    where (seq, circuit_until) in (select webhook_seq, due_at from deliveries where is_claimed = 1 and due_at is not null and ${which})
      and circuit_until > @now`)
  return (claims) => {
    if (release.run(claims).changes > 0) webhooks.changed()
  }
}
