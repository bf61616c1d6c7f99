import { err, ok, safeTry, type ResultAsync } from 'neverthrow'
import type { WebhookDelivery } from '../domain/delivery.js'
import { customHeadersProblem, type CustomHeaders } from '../domain/custom-headers.js'
import { EVENT_NAMES, freezeEvent, type SubscribableEvent } from '../domain/event.js'
import { fail } from '../domain/fail.js'
import { isSecret, newSecret } from '../domain/signature.js'
import {
  webhookHeadersContext,
  webhookSecretContext,
  type Webhook,
  type WebhookChange,
} from '../domain/webhook.js'
import { resumed, untried } from '../domain/webhook-health.js'
import type { Page, PageOf, Stored, Unavailable } from '../ports/stored.js'

import type { Platform } from '../platform.js'
import type { WebhooksContext } from './context.js'
import { broken, invalid, type Invalid, type Rule } from '../domain/input-rules.js'
import { integerRule, textRule } from '../domain/input-rules.js'

export type WebhookSettings = {
  readonly url: string
  /** Event names, or `'*'` for all, those of later versions too. */
  readonly events: readonly (SubscribableEvent | '*')[]
  /** Only this agent's events: its id. */
  readonly agentId?: string | null | undefined
  readonly description?: string | null | undefined
  /** Sent with each request, beside ours. The values are secret: names alone are shown. */
  readonly headers?: CustomHeaders | null | undefined
  readonly enabled?: boolean | undefined
  /** Whether an answer of 410 disables it; no unless told. */
  readonly disableOnGone?: boolean | undefined
}
export type CreateWebhookInput = WebhookSettings & {
  readonly projectId: string
  /** The caller's own: `whsec_` and base64 of 24 to 64 bytes. Made when absent. */
  readonly secret?: string | undefined
}
/** `secret` is shown this once (S§2). */
export type CreatedWebhook = { readonly webhook: Webhook; readonly secret: string }
export type CreateWebhookError = Invalid | Unavailable | { readonly kind: 'too_many_webhooks' }

export const createWebhook =
  (d: Platform) =>
  (input: CreateWebhookInput): ResultAsync<CreatedWebhook, CreateWebhookError> =>
    safeTry(async function* () {
      yield* await check(d, input.projectId, input)
      const problem = broken({ secret: secretRule(input.secret) })
      if (problem) return problem
      const secret = input.secret ?? newSecret(d.crypto.randomBytes)
      const id = d.ids.next()
      const headers = sealedHeaders(d, id, input.headers)
      const now = d.clock.now()
      const webhook: Webhook = {
        id,
        projectId: input.projectId,
        url: input.url,
        events: [...new Set(input.events)],
        ...(typeof input.agentId === 'string' && { agentId: input.agentId }),
        ...(typeof input.description === 'string' && { description: input.description }),
        secret: d.crypto.seal(secret, webhookSecretContext(id)),
        ...(headers && { headers }),
        disableOnGone: input.disableOnGone ?? false,
        status: statusFor(input.enabled ?? true, now),
        health: untried,
        createdAt: now,
        updatedAt: now,
      }
      const created = yield* d.storage.webhooks.create(webhook, d.policy.limits.webhooksPerProject)
      return created === 'limit_reached' ? fail('too_many_webhooks') : ok({ webhook, secret })
    })

export type WebhookRef = { readonly projectId: string; readonly webhookId: string }
type NotFound = { readonly kind: 'webhook_not_found' }

export const getWebhook =
  (d: Platform) =>
  ({ projectId, webhookId }: WebhookRef): ResultAsync<Webhook, Unavailable | NotFound> =>
    d.storage.webhooks
      .get(projectId, webhookId)
      .andThen((found) => (found ? ok(found) : fail('webhook_not_found')))

export const listWebhooks =
  (d: Platform) =>
  (projectId: string, page: PageOf): Stored<Page<Webhook>> =>
    d.storage.webhooks.list(projectId, page)

export type WebhookChanges = {
  readonly [K in keyof WebhookSettings]?: WebhookSettings[K] | undefined
}
export type UpdateWebhookInput = WebhookRef & { readonly change: WebhookChanges }

/**
 * Changes what is given. A URL on another origin takes the headers of its own along only if they are given anew: whoever may change a
 * webhook has not seen their values, and could send them to himself. Holds for the next event and the next attempt, but for what another process has claimed before: that
 * is sent within its lease, or not at all. Enabling sends what was kept meanwhile: one delivery
 * first, and once that is accepted the rest, no more at a time than ever.
 */
export const updateWebhook =
  (d: WebhooksContext) =>
  ({
    projectId,
    webhookId,
    change,
  }: UpdateWebhookInput): ResultAsync<Webhook, Invalid | Unavailable | NotFound> =>
    safeTry(async function* () {
      yield* await check(d, projectId, change)
      const before = yield* getWebhook(d)({ projectId, webhookId })
      if (takesHeadersElsewhere(before, change)) return invalid('headers', HEADERS_STAY)
      const updated = yield* d.storage.webhooks.update(
        projectId,
        webhookId,
        changeOf(d, change, before),
      )
      if (!updated) return fail('webhook_not_found')
      d.deliverySender.webhookChanged(updated)
      const isWorthALook = before.status.kind === 'disabled' || before.url !== updated.url
      if (updated.status.kind === 'enabled' && isWorthALook) d.deliverySender.wake()
      return ok(updated)
    })

/** Again sent to, if it was not. */
export const enableWebhook = (d: WebhooksContext) => (ref: WebhookRef) =>
  updateWebhook(d)({ ...ref, change: { enabled: true } })

/** What it would get is made and kept, and sent once it is enabled. */
export const disableWebhook = (d: WebhooksContext) => (ref: WebhookRef) =>
  updateWebhook(d)({ ...ref, change: { enabled: false } })

export type RotateSecretInput = WebhookRef & {
  /** The caller's own; made when absent. */
  readonly secret?: string | undefined
  /** For so long deliveries are signed with the old secret too; 24 hours when absent, 0 for at once. */
  readonly graceMs?: number | undefined
}

const DEFAULT_GRACE_MS = 24 * 3_600_000
const LONGEST_GRACE_MS = 30 * 24 * 3_600_000

/**
 * A new secret, shown this once. During the grace the S§6 header stays signed with the old one, and the Standard Webhooks
 * header carries both signatures; a rotation within a grace ends the grace of the oldest.
 */
export const rotateSecret =
  (d: WebhooksContext) =>
  ({
    projectId,
    webhookId,
    secret: own,
    graceMs = DEFAULT_GRACE_MS,
  }: RotateSecretInput): ResultAsync<CreatedWebhook, Invalid | Unavailable | NotFound> =>
    safeTry(async function* () {
      const problem = broken({
        secret: secretRule(own),
        graceMs: integerRule(graceMs, 0, LONGEST_GRACE_MS),
      })
      if (problem) return problem
      const before = yield* getWebhook(d)({ projectId, webhookId })
      const context = webhookSecretContext(webhookId)
      // A caller that repeats its request must not make its new secret the old one too.
      if (own !== undefined && d.crypto.unseal(before.secret, context) === own)
        return ok({ webhook: before, secret: own })
      const secret = own ?? newSecret(d.crypto.randomBytes)
      const updatedAt = d.clock.now()
      const sealed = d.crypto.seal(secret, context)
      const rotation = { secret: sealed, previousUntil: updatedAt + graceMs, updatedAt }
      const webhook = yield* d.storage.webhooks.rotateSecret(projectId, webhookId, rotation)
      if (!webhook) return fail('webhook_not_found')
      d.deliverySender.webhookChanged(webhook)
      return ok({ webhook, secret })
    })

/** Ends a rotation's grace now: the old secret signs nothing more. */
export const finishRotation =
  (d: WebhooksContext) =>
  ({ projectId, webhookId }: WebhookRef): ResultAsync<Webhook, Unavailable | NotFound> =>
    safeTry(async function* () {
      const webhook = yield* d.storage.webhooks.update(projectId, webhookId, {
        previousSecret: null,
        updatedAt: d.clock.now(),
      })
      if (!webhook) return fail('webhook_not_found')
      d.deliverySender.webhookChanged(webhook)
      return ok(webhook)
    })

/** Sends a `webhook.test` event to this webhook alone, subscribed or not; its delivery is retried as any other. */
export const sendTestEvent =
  (d: WebhooksContext) =>
  ({
    projectId,
    webhookId,
  }: WebhookRef): ResultAsync<
    WebhookDelivery,
    Unavailable | NotFound | { readonly kind: 'webhook_disabled' }
  > =>
    safeTry(async function* () {
      const webhook = yield* getWebhook(d)({ projectId, webhookId })
      if (webhook.status.kind === 'disabled') return fail('webhook_disabled')
      const event = freezeEvent(
        { event: 'webhook.test', data: { webhookId } },
        d.ids.next(),
        projectId,
        d.clock.now(),
      )
      const delivery = yield* d.storage.deliveries.publishTo(webhookId, event, d.ids.next())
      if (!delivery) return fail('webhook_not_found')
      d.deliverySender.wake()
      return ok(delivery)
    })

/** Its open deliveries are cancelled; what it was sent stays on record. */
export const deleteWebhook =
  (d: WebhooksContext) =>
  ({ projectId, webhookId }: WebhookRef): ResultAsync<void, Unavailable | NotFound> =>
    safeTry(async function* () {
      const deleted = yield* d.storage.webhooks.delete(projectId, webhookId)
      if (!deleted) return fail('webhook_not_found')
      d.deliverySender.webhookDeleted(webhookId)
      d.maintenance.wake()
      return ok(undefined)
    })

const MAX_DESCRIPTION = 500
const MAX_URL = 2_048
const HEADER_LIMITS = { maxHeaders: 20, maxValueLength: 4_096 }

async function check(d: Platform, projectId: string, settings: WebhookChanges) {
  const { url, events, agentId, description, headers } = settings
  const problem = broken({
    url: url === undefined ? undefined : textRule(url, MAX_URL),
    events: events === undefined ? undefined : eventsRule(events),
    description:
      description === undefined || description === null
        ? undefined
        : textRule(description, MAX_DESCRIPTION),
  })
  if (problem) return problem
  const misfit =
    headers &&
    customHeadersProblem(headers, { ...HEADER_LIMITS, headerPrefix: d.policy.headerPrefix })
  if (misfit) return invalid(misfit.path, misfit.message)
  if (url !== undefined) {
    const vetted = await d.sender.vet(url)
    if (vetted.isErr()) return invalid('url', vetted.error)
  }
  if (typeof agentId !== 'string') return ok(undefined)
  const agent = await d.storage.agents.get(projectId, agentId)
  if (agent.isErr()) return err(agent.error)
  return agent.value?.id === agentId
    ? ok(undefined)
    : invalid('agentId', 'must be the id of an agent of this project')
}

function eventsRule(events: readonly string[]): Rule {
  const known: readonly string[] = ['*', ...EVENT_NAMES]
  const fits = events.length > 0 && events.every((name) => known.includes(name))
  return fits ? undefined : `must name one or more of: ${known.join(', ')}`
}

const secretRule = (secret: string | undefined): Rule =>
  secret === undefined || isSecret(secret)
    ? undefined
    : 'must be whsec_ followed by base64 of 24 to 64 bytes'

const statusFor = (enabled: boolean, now: number): Webhook['status'] =>
  enabled ? { kind: 'enabled' } : { kind: 'disabled', reason: 'operator', at: now }

const HEADERS_STAY =
  'must be given anew, or be null, where url leads to another origin: their values were meant for the old one'

const takesHeadersElsewhere = (
  { url: from, headers: kept }: Webhook,
  { url: to, headers }: WebhookChanges,
): boolean =>
  kept !== undefined && headers === undefined && to !== undefined && originOf(to) !== originOf(from)

/** What is no URL, which a sender of the host's own may take, is a place of its own. */
const originOf = (url: string): string => (URL.canParse(url) ? new URL(url).origin : url)

function changeOf(d: Platform, change: WebhookChanges, before: Webhook): WebhookChange {
  const { enabled, events, headers, ...settings } = change
  const now = d.clock.now()
  const given = Object.fromEntries(
    Object.entries(settings).filter(([, value]) => value !== undefined),
  )
  return {
    ...given,
    ...(events && { events: [...new Set(events)] }),
    ...(headers !== undefined && { headers: sealedHeaders(d, before.id, headers) }),
    ...toggled(before, enabled, now),
    updatedAt: now,
  }
}

/** Null for none. */
function sealedHeaders(
  { crypto }: Platform,
  webhookId: string,
  headers: CustomHeaders | null = null,
): Webhook['headers'] | null {
  const names = Object.keys(headers ?? {})
  return names.length === 0
    ? null
    : { names, sealed: crypto.seal(JSON.stringify(headers), webhookHeadersContext(webhookId)) }
}

/** Nothing when it is so already: a webhook that was disabled for its failures keeps that reason. */
function toggled(
  { status, health }: Webhook,
  enabled: boolean | undefined,
  now: number,
): Partial<WebhookChange> {
  if (enabled === undefined || enabled === (status.kind === 'enabled')) return {}
  return { status: statusFor(enabled, now), ...(enabled && { health: resumed(health, now) }) }
}
