import {
  assignments,
  selectList,
  WEBHOOK_COLUMNS,
  WEBHOOK_UPDATE,
  type WebhookColumns,
} from '@org/agent-messaging-core/storage'
import { sql } from './sql.js'

/** The columns of a webhook `w`. */
export const webhookList = `w.seq, ${selectList(WEBHOOK_COLUMNS, 'w')}`
/** Append joins or a `where`. */
export const selectWebhook = `select ${webhookList} from agent_messaging.webhooks w`

export const updateWebhook = sql<WebhookColumns>(
  `update agent_messaging.webhooks set ${assignments(WEBHOOK_UPDATE)} where id = @id`,
)
