import { changeWebhook, type AttemptRecord, type Webhook } from '@org/agent-messaging-core'
import type { Queries } from './database.js'
import { fanOut } from './fan-out.js'
import { sql } from './sql.js'
import { selectWebhook, toWebhook, updateWebhook, webhookColumns, type WebhookRow } from './webhook-row.js'

type Judge = NonNullable<AttemptRecord['judge']>
type Judged = { readonly before: Webhook; readonly after: Webhook }

const lockSql = sql<{ readonly seq: number }, WebhookRow>(`${selectWebhook} where w.seq = @seq and not w.is_deleted for no key update`)

/** Has a webhook judged as it is now, within the transaction of an attempt: its change and its event are committed with it. */
export async function judged(db: Queries, webhookSeq: number, judge: Judge): Promise<Judged | undefined> {
  const row = await db.one(lockSql, { seq: webhookSeq })
  const before = row && toWebhook(row)
  const verdict = before && judge(before)
  if (!verdict) return undefined
  const after = changeWebhook(before, verdict.change)
  await db.run(updateWebhook, webhookColumns(after))
  if (verdict.outgoing) await fanOut(db, verdict.outgoing)
  return { before, after }
}
