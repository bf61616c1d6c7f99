import type { SubscribableEvent } from './event.js'
import type { Instant } from './instant.js'
import type { Reseal, Sealed } from './sealed.js'
import { readyToProbe, type WebhookHealth } from './webhook-health.js'

/** A registered receiver. */
export type Webhook = {
  readonly id: string
  readonly projectId: string
  readonly url: string
  readonly events: readonly (SubscribableEvent | '*')[]
  /** Only this agent's events, when set. */
  readonly agentId?: string
  readonly description?: string
  readonly secret: Sealed
  /** The one before a rotation, until its grace ends: receivers have that long to learn the new one. */
  readonly previousSecret?: { readonly secret: Sealed; readonly until: Instant }
  /** Headers of the customer's own on each request: their names, and the JSON of names and values. */
  readonly headers?: { readonly names: readonly string[]; readonly sealed: Sealed }
  /** Whether an answer of 410 disables it, instead of being a failure like any other. */
  readonly disableOnGone: boolean
  /** Disabled: its deliveries are made and kept, and sent once it is enabled again. */
  readonly status:
    | { readonly kind: 'enabled' }
    | { readonly kind: 'disabled'; readonly reason: DisabledReason; readonly at: Instant }
  readonly health: WebhookHealth
  readonly createdAt: Instant
  readonly updatedAt: Instant
}

/** An operator, five days of nothing but failure, or a 410 of a webhook that is to be disabled by one. */
export type DisabledReason = 'operator' | 'failing' | 'gone'

/** Absent: left as it is. `null` clears an optional field. */
export type WebhookChange = {
  readonly url?: Webhook['url']
  readonly events?: Webhook['events']
  readonly agentId?: string | null
  readonly description?: string | null
  readonly headers?: Webhook['headers'] | null
  readonly disableOnGone?: boolean
  readonly status?: Webhook['status']
  readonly health?: WebhookHealth
  /** Ends the grace of a rotation. */
  readonly previousSecret?: null
  readonly updatedAt: Webhook['updatedAt']
}

/**
 * The webhook with the change made: what was cleared is absent, not null. At another URL an open circuit is half-open: what the receiver at
 * the old one came to, or for how long it wants to be left alone, says nothing of the new one.
 */
export function changeWebhook(
  { agentId, description, headers, previousSecret, ...webhook }: Webhook,
  change: WebhookChange,
): Webhook {
  const {
    agentId: itsAgent = agentId,
    description: words = description,
    headers: own = headers,
    ...others
  } = change
  const { previousSecret: grace = previousSecret, ...rest } = others
  const isMoved = change.url !== undefined && change.url !== webhook.url
  return {
    ...webhook,
    ...(isMoved && { health: readyToProbe(webhook.health, change.updatedAt) }),
    ...rest,
    ...(itsAgent != null && { agentId: itsAgent }),
    ...(words != null && { description: words }),
    ...(own != null && { headers: own }),
    ...(grace != null && { previousSecret: grace }),
  }
}

/** The secrets to sign with at this moment: what S§6's header is keyed with, and during a grace the new one beside it. */
export const signingSecrets = (
  { secret, previousSecret }: Pick<Webhook, 'secret' | 'previousSecret'>,
  now: Instant,
): { signing: Sealed; next?: Sealed } =>
  previousSecret && previousSecret.until > now
    ? { signing: previousSecret.secret, next: secret }
    : { signing: secret }

/** What a sealed webhook secret is bound to. */
export const webhookSecretContext = (webhookId: string): string => `webhooks/${webhookId}/secret`

/** What its sealed headers are bound to. */
export const webhookHeadersContext = (webhookId: string): string => `webhooks/${webhookId}/headers`

/** With all that is secret sealed anew; itself when all is so already, undefined when something of it cannot be opened. */
export function resealWebhook(webhook: Webhook, reseal: Reseal): Webhook | undefined {
  const { id, previousSecret: grace, headers: own } = webhook
  const secret = reseal(webhook.secret, webhookSecretContext(id))
  const previous = grace && reseal(grace.secret, webhookSecretContext(id))
  const sealed = own && reseal(own.sealed, webhookHeadersContext(id))
  if (secret === undefined || (grace && !previous) || (own && !sealed)) return undefined
  if (secret === webhook.secret && previous === grace?.secret && sealed === own?.sealed)
    return webhook
  return {
    ...webhook,
    secret,
    ...(grace && previous && { previousSecret: { ...grace, secret: previous } }),
    ...(own && sealed && { headers: { ...own, sealed } }),
  }
}
