import type { EventName } from './event.js'
import type { Instant } from './instant.js'
import type { Sealed } from './sealed.js'

/** A registered receiver. */
export type Webhook = {
  readonly id: string
  readonly projectId: string
  readonly url: string
  readonly events: readonly (EventName | '*')[]
  /** Only this agent's events, when set. */
  readonly agentId?: string
  readonly description?: string
  readonly secret: Sealed
  /** Disabled: its deliveries are made and kept, and sent once it is enabled again. */
  readonly status: { readonly kind: 'enabled' } | { readonly kind: 'disabled'; readonly reason: 'operator'; readonly at: Instant }
  readonly createdAt: Instant
  readonly updatedAt: Instant
}

/** What a sealed webhook secret is bound to. */
export const webhookSecretContext = (webhookId: string): string => `webhooks/${webhookId}/secret`
