import { toIso, type Webhook } from '@org/agent-messaging-core'

/** Never with the secret: only the answer of create adds it (S§2). */
export const webhookBody = (webhook: Webhook) => ({
  id: webhook.id,
  url: webhook.url,
  events: webhook.events,
  ...(webhook.agentId !== undefined && { agentId: webhook.agentId }),
  ...(webhook.description !== undefined && { description: webhook.description }),
  enabled: webhook.status.kind === 'enabled',
  ...(webhook.status.kind === 'disabled' && { disabledReason: webhook.status.reason }),
  ...(webhook.previousSecret && { previousSecretUntil: toIso(webhook.previousSecret.until) }),
  createdAt: toIso(webhook.createdAt),
  updatedAt: toIso(webhook.updatedAt),
})
