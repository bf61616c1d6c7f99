import type { SubscribableEvent } from './event.js'
import type { Instant } from './instant.js'
import type { Reseal, Sealed } from './sealed.js'
import { changeSending, type SendingChange, type SendingSettings } from './sending.js'
import type { WebhookFilter } from './webhook-filter.js'
import { readyToProbe, type WebhookHealth } from './webhook-health.js'

/** `session`: the deliveries of one session are attempted in the order of their events. */
export const ORDERINGS = ['none', 'session'] as const
export type Ordering = (typeof ORDERINGS)[number]

/** A registered receiver. */
export type Webhook = {
  readonly id: string
  readonly projectId: string
  readonly url: string
  readonly events: readonly (SubscribableEvent | '*')[]
  /** If set, the webhook gets only the events that match. */
  readonly filter?: WebhookFilter
  readonly description?: string
  readonly secret: Sealed
  /** The secret before a rotation, until the grace period ends. */
  readonly previousSecret?: { readonly secret: Sealed; readonly until: Instant }
  /**
   * The customer's headers on each request: their names, and the encrypted JSON of names and
   * values.
   */
  readonly headers?: { readonly names: readonly string[]; readonly sealed: Sealed }
  /** True if an answer of 410 disables the webhook instead of counting as a failure. */
  readonly disableOnGone: boolean
  /** A change applies to the next event. */
  readonly ordering: Ordering
  readonly sending?: SendingSettings
  /** A paused webhook keeps its deliveries without a limit, and sends nothing. */
  readonly isPaused: boolean
  /** A disabled webhook's deliveries are stored, and sent after it is enabled. */
  readonly status:
    | { readonly kind: 'enabled' }
    | { readonly kind: 'disabled'; readonly reason: DisabledReason; readonly at: Instant }
  readonly health: WebhookHealth
  /** Set for a hook of a message. A message has at most one hook with each name. */
  readonly hook?: { readonly messageId: string; readonly name: string }
  readonly createdAt: Instant
  readonly updatedAt: Instant
}

/** An operator, five days of failures only, or a 410 with `disableOnGone`. */
export type DisabledReason = 'operator' | 'failing' | 'gone'

/** An absent field stays as it is. `null` clears an optional field. */
export type WebhookChange = {
  readonly url?: Webhook['url']
  readonly events?: Webhook['events']
  readonly filter?: WebhookFilter | null
  readonly description?: string | null
  readonly headers?: Webhook['headers'] | null
  readonly disableOnGone?: boolean
  readonly ordering?: Ordering
  readonly sending?: SendingChange
  readonly isPaused?: boolean
  readonly status?: Webhook['status']
  readonly health?: WebhookHealth
  /** Ends the grace period of a rotation. */
  readonly previousSecret?: null
  readonly updatedAt: Webhook['updatedAt']
}

/**
 * Returns the changed webhook. A cleared field is absent, not null. A new URL makes an open
 * circuit half-open, because the old receiver's failures say nothing about the new one.
 */
export function changeWebhook(
  { filter, description, headers, previousSecret, sending, ...webhook }: Webhook,
  change: WebhookChange,
): Webhook {
  const {
    filter: itsFilter = filter,
    description: words = description,
    headers: own = headers,
    sending: sendingChange = {},
    ...others
  } = change
  const { previousSecret: grace = previousSecret, ...rest } = others
  const sends = changeSending(sending, sendingChange)
  const isMoved = change.url !== undefined && change.url !== webhook.url
  return {
    ...webhook,
    ...(isMoved && { health: readyToProbe(webhook.health, change.updatedAt) }),
    ...rest,
    ...(itsFilter != null && { filter: itsFilter }),
    ...(words != null && { description: words }),
    ...(own != null && { headers: own }),
    ...(sends && { sending: sends }),
    ...(grace != null && { previousSecret: grace }),
  }
}

/**
 * Returns the secrets for a signature now: the key of the S§6 header, and the next secret during a
 * grace period.
 */
export const signingSecrets = (
  { secret, previousSecret }: Pick<Webhook, 'secret' | 'previousSecret'>,
  now: Instant,
): { signing: Sealed; next?: Sealed } =>
  previousSecret && previousSecret.until > now
    ? { signing: previousSecret.secret, next: secret }
    : { signing: secret }

/** The context that an encrypted webhook secret is bound to. */
export const webhookSecretContext = (webhookId: string): string => `webhooks/${webhookId}/secret`

/** The context that encrypted headers are bound to. */
export const webhookHeadersContext = (webhookId: string): string => `webhooks/${webhookId}/headers`

/**
 * Reseals all secrets. Returns the same webhook if there is nothing to do, and undefined if a
 * secret cannot be opened.
 */
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
