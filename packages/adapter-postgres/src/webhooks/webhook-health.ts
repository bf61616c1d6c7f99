import {
  changeWebhook,
  toWebhook,
  webhookColumns,
  type AttemptRecord,
  type Webhook,
  type WebhookColumns,
  type WebhookRow,
} from '@org/agent-messaging-core/storage'
import { selectWebhook, updateWebhook } from '@org/agent-messaging-sql-kit'
import type { Queries } from '../database/gateway.js'
import { fanOut } from '../events/fan-out.js'
import { dialect } from '../database/operations.js'
import { sql } from '../database/sql.js'

export type DecideHealth = NonNullable<AttemptRecord['decideHealth']>

const select = selectWebhook(dialect)
const updateSql = sql<WebhookColumns>(updateWebhook(dialect))
const lockSql = sql<{ readonly seq: number }, WebhookRow>(
  `${select} where w.seq = @seq and not w.is_deleted for no key update`,
)
const ofDeliverySql = sql<{ readonly deliveryId: string }, WebhookRow>(`
  ${select} join agent_messaging.deliveries d on d.webhook_seq = w.seq
  where d.id = @deliveryId and not w.is_deleted`)

/**
 * Returns whether a success would change the webhook, without a transaction. Usually only the first
 * of many concurrent successes does.
 */
export async function wouldChangeHealth(
  db: Queries,
  deliveryId: string,
  decideHealth: DecideHealth,
): Promise<boolean> {
  const row = await db.one(ofDeliverySql, { deliveryId })
  return row !== undefined && decideHealth(toWebhook(row)) !== undefined
}

/** Updates a webhook after an attempt, within the transaction that records the attempt. */
export async function updateHealth(
  db: Queries,
  webhookSeq: number,
  decideHealth: DecideHealth,
): Promise<{ readonly before: Webhook; readonly after: Webhook } | undefined> {
  const row = await db.one(lockSql, { seq: webhookSeq })
  const before = row && toWebhook(row)
  const update = before && decideHealth(before)
  if (!update) return undefined
  const after = changeWebhook(before, update.change)
  await db.run(updateSql, webhookColumns(after))
  if (update.outgoing) await fanOut(db, update.outgoing)
  return { before, after }
}
