import {
  assignments,
  insertList,
  selectList,
  WEBHOOK_COLUMNS,
  WEBHOOK_HEALTH,
  WEBHOOK_UPDATE,
  type WebhookColumns,
  type WebhookRow,
} from '@org/agent-messaging-core/storage'
import type { Dialect } from './dialect.js'
import { sql } from './operation.js'

/** The columns of a webhook `w`. */
export const webhookList = `w.seq, ${selectList(WEBHOOK_COLUMNS, 'w')}`
/** Append joins or a `where`. */
export const selectWebhook = ({ schema }: Dialect): string =>
  `select ${webhookList} from ${schema}webhooks w`
/** The columns of a hook `w`, with the health of its receiver `r`. Later columns hide earlier ones. */
export const hookList = `
  ${webhookList}, ${selectList(WEBHOOK_HEALTH, 'r')}, r.seq as "receiverSeq"`
export type HookRow = WebhookRow & { readonly receiverSeq: number }
export const insertWebhook = sql<WebhookColumns, Pick<WebhookRow, 'seq'>>(
  ({ schema }) => `insert into ${schema}webhooks ${insertList(WEBHOOK_COLUMNS)} returning seq`,
)
export const updateWebhook = sql<WebhookColumns>(
  ({ schema }) => `update ${schema}webhooks set ${assignments(WEBHOOK_UPDATE)} where id = @id`,
)
/** The URL is erased too, because the URL of some services contains the secret. */
export const eraseWebhooks = ({ schema }: Dialect): string => `
  update ${schema}webhooks set url = '', description = null, secret = '', previous_secret = null,
    header_names = null, headers = null, is_deleted = true`
