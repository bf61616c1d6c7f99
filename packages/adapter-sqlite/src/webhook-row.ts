import type { Sealed, Webhook } from '@org/agent-messaging-core'

export type WebhookRow = {
  readonly seq: number
  readonly id: string
  readonly projectId: string
  readonly url: string
  readonly events: string
  readonly agentId: string | null
  readonly description: string | null
  readonly secret: string
  readonly previousSecret: string | null
  readonly previousUntil: number | null
  readonly disabledAt: number | null
  readonly createdAt: number
  readonly updatedAt: number
}

/** To be followed by joins or a `where`. */
export const selectWebhook = `
  select w.seq, w.id, w.project_id as projectId, w.url, w.events, w.agent_id as agentId, w.description, w.secret,
    w.previous_secret as previousSecret, w.previous_until as previousUntil,
    w.disabled_at as disabledAt, w.created_at as createdAt, w.updated_at as updatedAt
  from webhooks w`

export const toWebhook = (row: WebhookRow): Webhook => ({
  id: row.id,
  projectId: row.projectId,
  url: row.url,
  events: JSON.parse(row.events) as Webhook['events'],
  ...(row.agentId !== null && { agentId: row.agentId }),
  ...(row.description !== null && { description: row.description }),
  secret: row.secret as Sealed,
  ...(row.previousSecret !== null && { previousSecret: { secret: row.previousSecret as Sealed, until: row.previousUntil ?? 0 } }),
  status: row.disabledAt === null ? { kind: 'enabled' } : { kind: 'disabled', reason: 'operator', at: row.disabledAt },
  createdAt: row.createdAt,
  updatedAt: row.updatedAt,
})

/** The columns that a webhook's own data is in. */
export const webhookColumns = (webhook: Webhook) => ({
  id: webhook.id,
  projectId: webhook.projectId,
  url: webhook.url,
  events: JSON.stringify(webhook.events),
  agentId: webhook.agentId ?? null,
  description: webhook.description ?? null,
  secret: webhook.secret,
  previousSecret: webhook.previousSecret?.secret ?? null,
  previousUntil: webhook.previousSecret?.until ?? null,
  disabledAt: webhook.status.kind === 'disabled' ? webhook.status.at : null,
  createdAt: webhook.createdAt,
  updatedAt: webhook.updatedAt,
})
