import type { Database } from 'better-sqlite3'
import { changeWebhook, type AttemptRecord, type Webhook } from '@org/agent-messaging-core/storage'
import type { FanOut } from './fan-out.js'
import {
  selectWebhook,
  toWebhook,
  updateWebhookSql,
  webhookColumns,
  type WebhookRow,
} from './webhook-row.js'
import type { WebhookRows } from './webhook-rows.js'

type Judge = NonNullable<AttemptRecord['decideHealth']>
type Judged = { readonly before: Webhook; readonly after: Webhook }

/** Has a webhook judged as it is now, within the transaction of an attempt: its change and its event are committed with it. */
export function judgements(
  db: Database,
  fanOut: FanOut,
  webhooks: WebhookRows,
): (webhookSeq: number, decideHealth: Judge) => Judged | undefined {
  const webhookOf = db.prepare<[number], WebhookRow>(
    `${selectWebhook} where w.seq = ? and w.is_deleted = 0`,
  )
  const update = db.prepare<[ReturnType<typeof webhookColumns>]>(updateWebhookSql)

  return (webhookSeq, decideHealth) => {
    const row = webhookOf.get(webhookSeq)
    const before = row && toWebhook(row)
    const verdict = before && decideHealth(before)
    if (!verdict) return undefined
    const after = changeWebhook(before, verdict.change)
    update.run(webhookColumns(after))
    webhooks.changed()
    if (verdict.outgoing) fanOut(verdict.outgoing)
    return { before, after }
  }
}
