import type { WebhookEvent } from '../domain/webhooks/event.js'

/** The columns that only published events have. */
export const publishedColumns = ({ agentId, published }: WebhookEvent) => ({
  endUserId: published?.endUserId ?? null,
  agentId: (published && agentId) ?? null,
  fingerprint: published?.fingerprint ?? null,
})
