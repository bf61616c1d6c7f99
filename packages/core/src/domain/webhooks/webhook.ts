import type { CustomHeaders } from './custom-headers.js'
import type { LastFailure } from './delivery.js'
import { MAX_EVENT_TYPE, SUBSCRIPTION_PATTERN, subscriptionRule } from './event-name.js'
import { filled, given } from '../values/given.js'
import type { Instant } from '../values/instant.js'
import type { Reseal, Sealed } from '../values/sealed.js'
import {
  changeSending,
  sendingSettings,
  type SendingChange,
  type SendingSettings,
} from './sending.js'
import type { SettingsOf } from '../values/setting.js'
import type { WebhookFilter } from './webhook-filter.js'
import { readyToProbe, untried, type WebhookHealth } from './webhook-health.js'

/** `session`: the deliveries of one session are attempted in the order of their events. */
const ORDERINGS = ['none', 'session'] as const
type Ordering = (typeof ORDERINGS)[number]

/** What the body of a delivery has: the data, ids and a URL, or the data with parts of answers. */
const PAYLOADS = ['full', 'thin', 'parts'] as const
type Payload = (typeof PAYLOADS)[number]

/** A registered receiver. */
export type Webhook = KeptSettings & {
  readonly id: string
  readonly projectId: string
  readonly secret: Sealed
  /** The secret before a rotation, until the grace period ends. */
  readonly previousSecret?: { readonly secret: Sealed; readonly until: Instant }
  /**
   * The customer's headers on each request: their names, and the encrypted JSON of names and
   * values.
   */
  readonly headers?: { readonly names: readonly string[]; readonly sealed: Sealed }
  readonly sending?: SendingSettings
  /** A paused webhook keeps its deliveries without a limit, and sends nothing. */
  readonly isPaused: boolean
  /** A disabled webhook's deliveries are stored, and sent after it is enabled. */
  readonly status:
    | { readonly kind: 'enabled' }
    | { readonly kind: 'disabled'; readonly reason: DisabledReason; readonly at: Instant }
  readonly health: WebhookHealth
  /**
   * Set for a hook of a message. A push config of A2A has a name, which is unique in its message. The
   * webhook of one send has no name.
   */
  readonly hook?: { readonly messageId: string; readonly name?: string }
  readonly createdAt: Instant
  readonly updatedAt: Instant
}

/**
 * The id of the receiver that has the circuit, the limits and the turn of a webhook's deliveries: the
 * webhook itself, or what all hooks of one project and origin share.
 */
export const receiverIdOf = ({
  id,
  projectId,
  url,
  hook,
}: Pick<Webhook, 'id' | 'projectId' | 'url' | 'hook'>): string =>
  hook === undefined || hook.messageId === '' ? id : `hooks ${projectId} ${new URL(url).origin}`

/** A webhook that was read. A change does not read the failure. */
export type ReadWebhook = Webhook & { readonly lastFailure?: LastFailure }

/** An operator, five days of failures only, or a 410 with `disableOnGone`. */
export type DisabledReason = 'operator' | 'failing' | 'gone'

/** The settings that people give. The sending settings hold over all processes. */
export type WebhookSettings = SendingChange & {
  /** `https:` to a public address, unless the host allows more by `addresses`. */
  readonly url: string
  /** Names of events, groups such as `order.*`, or `'*'` for all events, also of later versions. */
  readonly events: readonly string[]
  /** Limits the webhook to the events that match. */
  readonly filter?: WebhookFilter | null | undefined
  /** Words for people. */
  readonly description?: string | null | undefined
  /** Additional headers of each request. The values are secret: only the names are shown. */
  readonly headers?: CustomHeaders | null | undefined
  /** False stores deliveries and sends nothing. Default: true. */
  readonly enabled?: boolean | undefined
  /** True if a 410 disables the webhook instead of counting as a failure. Default: false. */
  readonly disableOnGone?: boolean | undefined
  /**
   * `session`: the deliveries of one session keep the order of their events. Default: `none`. A
   * change applies to the next event.
   */
  readonly ordering?: Ordering | undefined
  /**
   * `thin`: the body has the ids and the URL of the event instead of its data. `parts`: the data of
   * `message.responded` has the parts of the answer too. Default: `full`. A change applies to the
   * next event.
   */
  readonly payload?: Payload | undefined
  /** True keeps all deliveries and sends nothing. Default: false. */
  readonly paused?: boolean | undefined
}
export type WebhookChanges = {
  readonly [K in keyof WebhookSettings]?: WebhookSettings[K] | undefined
}

/** The settings that a webhook stores in another form or under another name. */
type Converted = 'headers' | 'enabled' | 'paused' | keyof SendingSettings
type PlainSettings = Omit<WebhookSettings, Converted>
/** A clearable setting can be absent. */
type KeptSettings = Kept<Omit<PlainSettings, ClearableName>> &
  Partial<Kept<Pick<PlainSettings, ClearableName>>>
type Kept<Settings> = { readonly [K in keyof Settings]-?: NonNullable<Settings[K]> }
export type ClearableName = {
  [K in keyof PlainSettings]-?: null extends PlainSettings[K] ? K : never
}[keyof PlainSettings]

/** The limits of custom headers. */
export const HEADER_LIMITS = { maxHeaders: 20, maxValueLength: 4_096 }

/** The settings beside those of sending. */
export const ownSettings = {
  url: {
    type: 'string',
    maxLength: 2_048,
    format: 'uri',
    required: true,
    description: 'The URL that gets the deliveries.',
    examples: ['https://example.com/hooks'],
  },
  events: {
    type: 'array',
    items: {
      type: 'string',
      rule: subscriptionRule,
      pattern: SUBSCRIPTION_PATTERN,
      maxLength: MAX_EVENT_TYPE,
    },
    minItems: 1,
    required: true,
    description:
      'The events that the webhook gets. `order.*`: all whose name begins with `order.`. `*`: all ' +
      'events, also of later versions.',
    examples: [['message.responded', 'agent.error'], ['order.*'], ['*']],
  },
  filter: {
    type: 'object',
    clearable: true,
    description: 'Limits the webhook to the events that match. A change replaces the whole filter.',
    label: 'send only events that match this filter',
  },
  description: {
    type: 'string',
    maxLength: 500,
    clearable: true,
    description: 'For people.',
    label: 'description for people',
  },
  headers: {
    type: 'object',
    clearable: true,
    description:
      'Sent with each request. The values are secret. A `url` on another origin requires new ' +
      'headers or null.',
  },
  enabled: { type: 'boolean', default: true, description: 'Whether deliveries are sent.' },
  disableOnGone: {
    type: 'boolean',
    default: false,
    description: 'Whether a 410 answer disables the webhook.',
    label: 'disable this webhook if it answers 410 Gone',
  },
  ordering: {
    type: 'string',
    enum: ORDERINGS,
    default: 'none',
    label: 'send the deliveries of each session in order',
    description:
      '`session`: the deliveries of one session keep the order of their events. A change applies ' +
      'to the next event.',
  },
  payload: {
    type: 'string',
    enum: PAYLOADS,
    default: 'full',
    label: 'body of each event: full, thin (ids and a URL), or with the parts of answers',
    description:
      '`thin`: the body has the ids and the URL of the event instead of its data. `parts`: the ' +
      'data of `message.responded` has the parts of the answer too. A change applies to the next ' +
      'event.',
  },
  paused: {
    type: 'boolean',
    default: false,
    description: 'Keeps all deliveries and sends nothing.',
  },
} as const satisfies SettingsOf<Omit<WebhookSettings, keyof SendingSettings>>

export const webhookSettings = { ...ownSettings, ...sendingSettings }

/** Returns a webhook whose optional settings have their first values. */
export const newWebhook = (
  given: Pick<Webhook, 'id' | 'projectId' | 'url' | 'events' | 'secret'>,
  now: Instant,
): Webhook => ({
  ...given,
  disableOnGone: false,
  ordering: 'none',
  payload: 'full',
  isPaused: false,
  status: { kind: 'enabled' },
  health: untried,
  createdAt: now,
  updatedAt: now,
})

/** An absent field stays as it is. `null` clears an optional field. */
export type WebhookChange = Omit<WebhookChanges, Converted> & {
  readonly headers?: Webhook['headers'] | null
  readonly sending?: SendingChange
  readonly isPaused?: boolean
  readonly status?: Webhook['status']
  readonly health?: WebhookHealth
  /** Sets a new secret, and keeps the present one as the previous one until `previousUntil`. */
  readonly rotation?: { readonly secret: Webhook['secret']; readonly previousUntil: Instant }
  /** Ends the grace period of a rotation. */
  readonly previousSecret?: null
  readonly updatedAt: Webhook['updatedAt']
}

/**
 * Returns the changed webhook. A cleared field is absent, not null. A new URL makes an open
 * circuit half-open, because the old receiver's failures say nothing about the new one.
 */
export function changeWebhook(webhook: Webhook, { rotation, ...change }: WebhookChange): Webhook {
  const isMoved = change.url !== undefined && change.url !== webhook.url
  const changed = {
    ...webhook,
    ...(isMoved && { health: readyToProbe(webhook.health, change.updatedAt) }),
    ...given(change),
    ...(rotation && {
      secret: rotation.secret,
      previousSecret: { secret: webhook.secret, until: rotation.previousUntil },
    }),
    sending: changeSending(webhook.sending, change.sending ?? {}),
  }
  return filled(changed) as Webhook
}

/**
 * Returns the secrets for a signature now: the key of the header with the prefix, and the next
 * secret during a grace period.
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
