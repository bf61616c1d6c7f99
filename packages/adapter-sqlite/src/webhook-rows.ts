import type { EventName, Webhook } from '@org/agent-messaging-core/storage'
import type { Database } from 'better-sqlite3'
import { versionedCache } from './versioned-cache.js'
import { selectWebhook, toWebhook, type WebhookRow } from './webhook-row.js'

export type Receiver = { readonly seq: number; readonly webhook: Webhook }

/** Webhooks as each event and each claim needs them. They hardly ever change, so they are read and parsed when they did. */
export type WebhookRows = {
  /** Of a row that there is, deleted or not. */
  bySeq(seq: number): Webhook
  /** Those that want such an event, of some agent or of any. */
  subscribed(projectId: string, event: EventName): readonly Receiver[]
  /** To be called within each transaction of this connection that writes webhooks or their subscriptions. */
  changed(): void
}

export function webhookRows(db: Database): WebhookRows {
  const one = db.prepare<[number], WebhookRow>(`${selectWebhook} where w.seq = ?`)
  const wanting = db
    .prepare<[string, EventName], number>(
      "select webhook_seq from subscriptions where project_id = ? and event in ('*', ?)",
    )
    .pluck()
  const webhooks = versionedCache<number, Webhook>(db)
  const receivers = versionedCache<string, readonly Receiver[]>(db)

  const bySeq = (seq: number): Webhook =>
    webhooks.get(seq, () => toWebhook(one.get(seq) as WebhookRow))
  const subscribed = (projectId: string, event: EventName): Receiver[] =>
    wanting.all(projectId, event).map((seq) => ({ seq, webhook: bySeq(seq) }))

  return {
    bySeq,
    subscribed: (projectId, event) =>
      receivers.get(`${projectId} ${event}`, () => subscribed(projectId, event)),
    changed: () => {
      webhooks.clear()
      receivers.clear()
    },
  }
}
