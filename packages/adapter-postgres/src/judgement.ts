import {
  changeWebhook,
  toWebhook,
  webhookColumns,
  type AttemptRecord,
  type Webhook,
  type WebhookRow,
} from '@org/agent-messaging-core/storage'
import type { Queries } from './database.js'
import { fanOut } from './fan-out.js'
import { sql } from './sql.js'
import { selectWebhook, updateWebhook } from './webhook-row.js'

export type Judge = NonNullable<AttemptRecord['decideHealth']>
type Judged = { readonly before: Webhook; readonly after: Webhook }

const lockSql = sql<{ readonly seq: number }, WebhookRow>(
  `${selectWebhook} where w.seq = @seq and not w.is_deleted for no key update`,
)

const ofDeliverySql = sql<{ readonly deliveryId: string }, WebhookRow>(`
  ${selectWebhook} join agent_messaging.deliveries d on d.webhook_seq = w.seq where d.id = @deliveryId and not w.is_deleted`)

/**
 * Whether a success is worth a verdict, without a commit: of all that were claimed while a webhook had long had none, the first one says so,
 * and the rest are recorded with whatever else is.
 */
export async function hasWebhookUpdate(
  db: Queries,
  deliveryId: string,
  decideHealth: Judge,
): Promise<boolean> {
  const row = await db.one(ofDeliverySql, { deliveryId })
  return row !== undefined && decideHealth(toWebhook(row)) !== undefined
}

/** Has a webhook judged as it is now, within the transaction of an attempt: its change and its event are committed with it. */
export async function judged(
  db: Queries,
  webhookSeq: number,
  decideHealth: Judge,
): Promise<Judged | undefined> {
  const row = await db.one(lockSql, { seq: webhookSeq })
  const before = row && toWebhook(row)
  const verdict = before && decideHealth(before)
  if (!verdict) return undefined
  const after = changeWebhook(before, verdict.change)
  await db.run(updateWebhook, webhookColumns(after))
  if (verdict.outgoing) await fanOut(db, verdict.outgoing)
  return { before, after }
}
