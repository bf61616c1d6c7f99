import type { EventName, Webhook } from '@org/agent-messaging-core'
import type { Database } from 'better-sqlite3'
import { versionedCache } from './versioned-cache.js'
import { selectWebhook, toWebhook, type WebhookRow } from './webhook-row.js'

/** Webhooks as each event and each claim needs them. They hardly ever change, so they are read and parsed when they did. */
export type WebhookRows = {
  /** Of a row that there is, deleted or not. */
  bySeq(seq: number): Webhook
  /** The `seq`s of those that want such an event, whichever agent's it is. */
  subscribed(projectId: string, event: EventName): readonly number[]
  /** To be called within each transaction of this connection that writes webhooks or their subscriptions. */
  changed(): void
}

export function webhookRows(db: Database): WebhookRows {
  const one = db.prepare<[number], WebhookRow>(`${selectWebhook} where w.seq = ?`)
  const wanting = db
    .prepare<[string, EventName], number>("select webhook_seq from subscriptions where project_id = ? and event in ('*', ?)")
    .pluck()
  const webhooks = versionedCache<number, Webhook>(db)
  const subscriptions = versionedCache<string, readonly number[]>(db)

  const read = (seq: number): Webhook => toWebhook(one.get(seq) as WebhookRow)

  return {
    bySeq: (seq) => webhooks.get(seq, () => read(seq)) as Webhook,
    subscribed: (projectId, event) => subscriptions.get(`${projectId} ${event}`, () => wanting.all(projectId, event)) ?? [],
    changed: () => {
      webhooks.clear()
      subscriptions.clear()
    },
  }
}
