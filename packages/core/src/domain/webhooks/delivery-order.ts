import type { WebhookEvent } from './event.js'
import type { Webhook } from './webhook.js'

/**
 * Returns the order key of a new delivery, or undefined if the delivery is unordered. Of the open
 * deliveries with the same key, the first can be sent and the others wait.
 */
export const orderKeyOf = (
  { id, ordering }: Pick<Webhook, 'id' | 'ordering'>,
  { projectId, agentId, sessionId }: Pick<WebhookEvent, 'projectId' | 'agentId' | 'sessionId'>,
): string | undefined =>
  ordering === 'session' && sessionId !== undefined
    ? `${id} ${agentId ?? projectId} ${sessionId}`
    : undefined
