import { settingsIn } from '../domain/values/setting.js'
import { toIso, toIsoIfSet, type Instant } from '../domain/values/instant.js'
import type { SendingSettings } from '../domain/webhooks/sending.js'
import { circuitAt, type CircuitState } from '../domain/webhooks/webhook-health.js'
import type { WebhookLimit } from '../domain/webhooks/webhook-limit.js'
import {
  webhookSettings,
  type DisabledReason,
  type ReadWebhook,
  type Webhook,
} from '../domain/webhooks/webhook.js'
import type { CreatedWebhook } from '../webhooks/manage-webhooks.js'
import { shownLastFailure, type ShownLastFailure } from './deliveries.js'

/** A webhook as callers of the API and of the host see it. Times are ISO 8601 in UTC. */
export type ShownWebhook = SendingSettings &
  Status &
  Health &
  Pick<
    Webhook,
    'id' | 'url' | 'events' | 'filter' | 'description' | 'disableOnGone' | 'ordering' | 'payload'
  > & {
    /** Custom headers. Their values are secret. */
    readonly headers?: Readonly<Record<string, { readonly set: true }>>
    readonly paused: boolean
    /** The newest failed attempt that is stored. Only reads return it. */
    readonly lastFailure?: ShownLastFailure
    /** The most that the process that answers sends to the webhook now, and why. */
    readonly limit?: WebhookLimit | undefined
    /** The end of the rotation. Until then the old secret signs too. */
    readonly previousSecretUntil?: string
    readonly createdAt: string
    readonly updatedAt: string
  }
/** `secret` signs the deliveries. It is shown only once. */
export type ShownCreatedWebhook = ShownWebhook & { readonly secret: string }

type Status = {
  readonly enabled: boolean
  /** Present with `disabledAt` if the webhook is disabled. */
  readonly disabledReason?: DisabledReason
  readonly disabledAt?: string
}
type Health = {
  readonly consecutiveFailures: number
  /** The time of the first failure after the last success. */
  readonly failingSince?: string | undefined
  /** Accurate to about ten seconds. */
  readonly lastSuccessAt?: string | undefined
  readonly lastFailureAt?: string | undefined
  /** `half_open`: one delivery at a time is sent as a probe. */
  readonly circuit: CircuitState
  readonly circuitOpenUntil?: string
}

/** What the answering process knows of a webhook. */
export type WebhookView = {
  now(): Instant
  limitOf(webhook: Webhook): WebhookLimit
}

/** The webhook as it is now, without its secrets. */
export function shownWebhook(
  { headers, lastFailure, previousSecret, ...webhook }: ReadWebhook,
  view: WebhookView,
): ShownWebhook {
  const now = view.now()
  return {
    id: webhook.id,
    ...settingsIn(webhookSettings, webhook),
    ...(headers && {
      headers: Object.fromEntries(headers.names.map((name) => [name, { set: true as const }])),
    }),
    paused: webhook.isPaused,
    ...webhook.sending,
    ...statusOf(webhook),
    ...healthOf(webhook, now),
    ...(lastFailure && { lastFailure: shownLastFailure(lastFailure) }),
    limit: view.limitOf(webhook),
    ...(previousSecret &&
      previousSecret.until > now && { previousSecretUntil: toIso(previousSecret.until) }),
    createdAt: toIso(webhook.createdAt),
    updatedAt: toIso(webhook.updatedAt),
  }
}

/** The only shape that contains a secret. */
export const shownCreatedWebhook = (
  { webhook, secret }: CreatedWebhook,
  view: WebhookView,
): ShownCreatedWebhook => ({ ...shownWebhook(webhook, view), secret })

const statusOf = ({ status }: Pick<Webhook, 'status'>): Status =>
  status.kind === 'enabled'
    ? { enabled: true }
    : { enabled: false, disabledReason: status.reason, disabledAt: toIso(status.at) }

function healthOf({ health }: Pick<Webhook, 'health'>, now: Instant): Health {
  const { consecutiveFailures, failingSince, lastSuccessAt, lastFailureAt, circuit } = health
  return {
    consecutiveFailures,
    failingSince: toIsoIfSet(failingSince),
    lastSuccessAt: toIsoIfSet(lastSuccessAt),
    lastFailureAt: toIsoIfSet(lastFailureAt),
    circuit: circuitAt(health, now),
    ...(circuit.kind === 'open' &&
      circuit.until > now && { circuitOpenUntil: toIso(circuit.until) }),
  }
}
