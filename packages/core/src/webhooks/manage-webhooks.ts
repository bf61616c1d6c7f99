import { err, ok, safeTry, type ResultAsync } from 'neverthrow'
import { auditEntry, changedFields, type AuditEntry, type ByActor } from '../domain/access/audit.js'
import { cutAnswer } from '../domain/webhooks/delivery.js'
import { freezeEvent, type EventPayload } from '../domain/webhooks/event.js'
import { fail } from '../domain/values/fail.js'
import { ofPage, type ListInput } from '../domain/values/page-rules.js'
import { given } from '../domain/values/given.js'
import { sendingSettings } from '../domain/webhooks/sending.js'
import { settingsIn } from '../domain/values/setting.js'
import { newSecret, secretRule } from '../domain/webhooks/signature.js'
import {
  changeWebhook,
  newWebhook,
  ownSettings,
  webhookSecretContext,
  type ReadWebhook,
  type Webhook,
  type WebhookChange,
  type WebhookChanges,
  type WebhookSettings,
} from '../domain/webhooks/webhook.js'
import { resumed } from '../domain/webhooks/webhook-health.js'
import type { Unavailable } from '../ports/stored.js'

import type { Changing, Reading } from '../platform.js'
import type { Needs } from './context.js'
import {
  broken,
  integerRule,
  invalid,
  required,
  type Invalid,
} from '../domain/values/input-rules.js'
import { getEventType } from './event-types.js'
import { requireProject, type ProjectNotFound } from './require-project.js'
import { checkWebhook, sealedHeaders, type WebhookChecks } from './check-webhook.js'
import { chain, existing, type Chained } from '../pacing/chain.js'

export type CreateWebhookInput = WebhookSettings &
  ByActor & {
    readonly projectId: string
    /** The caller's secret: `whsec_` and the base64 of 24 to 64 bytes. Created if absent. */
    readonly secret?: string | undefined
  }
/** The response contains the secret. It is shown only once. */
export type CreatedWebhook = { readonly webhook: Webhook; readonly secret: string }
export type CreateWebhookError =
  | Invalid
  | Unavailable
  | ProjectNotFound
  | { readonly kind: 'too_many_webhooks' }

export const createWebhook =
  (d: Changing & WebhookChecks & Needs<'crypto'>) =>
  (input: CreateWebhookInput): ResultAsync<CreatedWebhook, CreateWebhookError> =>
    safeTry(async function* () {
      const { projectId, url, events } = input
      const missing = broken(required({ projectId, url, events }))
      if (missing) return missing
      yield* await checkWebhook(d, projectId, input)
      const problem = broken({ secret: secretRule(input.secret) })
      if (problem) return problem
      yield* requireProject(d, projectId)
      const secret = input.secret ?? newSecret(d.crypto.randomBytes)
      const id = d.ids.next()
      const sealed = d.crypto.seal(secret, webhookSecretContext(id))
      const blank = newWebhook({ id, projectId, url, events, secret: sealed }, d.clock.now())
      const webhook = changeWebhook(blank, changeOf(d, input, blank))
      const created = yield* chain(
        d.storage.webhooks.create(
          webhook,
          d.policy.limits.webhooksPerProject,
          entryOf(
            d,
            { projectId, webhookId: id, actor: input.actor },
            { action: 'webhook.created' },
          ),
        ),
      )
      return created === 'limit_reached' ? fail('too_many_webhooks') : ok({ webhook, secret })
    })

export type WebhookRef = {
  readonly projectId: string
  /** The id of the webhook. */
  readonly webhookId: string
}
type WebhookCall = WebhookRef & ByActor
export const getWebhook =
  (d: Reading) =>
  ({ projectId, webhookId }: WebhookRef) =>
    existing(d.storage.webhooks.get(projectId, webhookId), 'webhook_not_found')

export const readWebhook = (d: Reading) => (ref: WebhookRef) =>
  getWebhook(d)(ref)
    .andThen((webhook) => withFailures(d, ref.projectId, [webhook]))
    .map(([webhook]) => webhook as ReadWebhook)

export const listWebhooks =
  (d: Reading) =>
  ({ projectId, ...page }: ListInput) =>
    ofPage(page, (checked) =>
      chain(d.storage.webhooks.list(projectId, checked)).andThen(({ data, nextCursor }) =>
        withFailures(d, projectId, data).map((webhooks) => ({ data: webhooks, nextCursor })),
      ),
    )

/** Adds the last failure of each webhook. */
export const withFailures = (
  { storage }: Reading,
  projectId: string,
  webhooks: readonly Webhook[],
): Chained<ReadWebhook[]> =>
  chain(
    storage.deliveries.lastFailures(
      projectId,
      webhooks.map(({ id }) => id),
    ),
  ).map((failures) => {
    const byWebhook = new Map(failures.map((failure) => [failure.webhookId, failure]))
    return webhooks.map((webhook) => {
      const failure = byWebhook.get(webhook.id)
      if (!failure) return webhook
      return { ...webhook, lastFailure: { ...failure, outcome: cutAnswer(failure.outcome) } }
    })
  })

export type UpdateWebhookInput = WebhookCall & {
  /** The fields to change. Absent fields stay, and `null` clears a field. */
  readonly change: WebhookChanges
}

type Updating = Changing & WebhookChecks & Needs<'crypto' | 'deliverySender'>

export const updateWebhook =
  (d: Updating) =>
  ({ projectId, webhookId, change, actor }: UpdateWebhookInput) =>
    safeTry(async function* () {
      yield* await checkWebhook(d, projectId, change)
      const before = yield* getWebhook(d)({ projectId, webhookId })
      if (takesHeadersElsewhere(before, change)) return invalid('headers', HEADERS_STAY)
      const entry = { action: actionOf(change), fields: changedFields(change) }
      const ref = { projectId, webhookId, actor }
      const updated = yield* stored(d, ref, changeOf(d, change, before), entry)
      const wasHeld = before.status.kind === 'disabled' || before.isPaused
      const isWorthALook = wasHeld || before.url !== updated.url
      if (updated.status.kind === 'enabled' && isWorthALook) d.deliverySender.wake()
      return ok(updated)
    })

export const enableWebhook = (d: Updating) => (ref: WebhookCall) =>
  updateWebhook(d)({ ...ref, change: { enabled: true } })

export const disableWebhook = (d: Updating) => (ref: WebhookCall) =>
  updateWebhook(d)({ ...ref, change: { enabled: false } })

export type RotateSecretInput = WebhookCall & {
  /** The caller's secret. Created if absent. */
  readonly secret?: string | undefined
  /**
   * How long deliveries are also signed with the old secret. Default: 24 hours. 0 ends it at once.
   */
  readonly graceMs?: number | undefined
}

const DEFAULT_GRACE_MS = 24 * 3_600_000
const LONGEST_GRACE_MS = 30 * 24 * 3_600_000

export const rotateSecret =
  (d: Changing & Needs<'checkMasterKey' | 'crypto' | 'deliverySender'>) =>
  ({ projectId, webhookId, secret: own, graceMs = DEFAULT_GRACE_MS, actor }: RotateSecretInput) =>
    safeTry(async function* () {
      const problem = broken({
        secret: secretRule(own),
        graceMs: integerRule(graceMs, 0, LONGEST_GRACE_MS),
      })
      if (problem) return problem
      const before = yield* getWebhook(d)({ projectId, webhookId })
      yield* chain(d.checkMasterKey())
      const context = webhookSecretContext(webhookId)
      // A caller that repeats its request must not make its new secret the old one too.
      if (own !== undefined && d.crypto.unseal(before.secret, context) === own)
        return ok({ webhook: before, secret: own })
      const secret = own ?? newSecret(d.crypto.randomBytes)
      const updatedAt = d.clock.now()
      const sealed = d.crypto.seal(secret, context)
      const rotation = { secret: sealed, previousUntil: updatedAt + graceMs }
      const ref = { projectId, webhookId, actor }
      const entry = { action: 'webhook.secret_rotated' } as const
      return ok({ webhook: yield* stored(d, ref, { rotation, updatedAt }, entry), secret })
    })

export const finishRotation = (d: Changing & Needs<'deliverySender'>) => (ref: WebhookCall) =>
  stored(
    d,
    ref,
    { previousSecret: null, updatedAt: d.clock.now() },
    { action: 'webhook.rotation_finished' },
  )

export type TestEventInput = WebhookRef & {
  /**
   * The event whose sample is sent, or a type of the catalogue that has an example. Default:
   * `webhook.test`.
   */
  readonly event?: string | undefined
}

export const sendTestEvent =
  (d: Changing & Needs<'eventNews' | 'deliverySender' | 'publicUrl'>) =>
  ({ projectId, webhookId, event: name = 'webhook.test' }: TestEventInput) =>
    safeTry(async function* () {
      const webhook = yield* getWebhook(d)({ projectId, webhookId })
      if (webhook.status.kind === 'disabled') return fail('webhook_disabled')
      const data =
        name === 'webhook.test' ? { webhookId } : yield* await exampleOf(d, projectId, name)
      const frozen = freezeEvent(
        { event: name, data } as EventPayload,
        d.ids.next(),
        projectId,
        d.clock.now(),
        d.publicUrl?.(),
      )
      // A sample belongs to no agent and no message.
      const { agentId: _, messageId: __, sessionId: ___, metadata: ____, ...event } = frozen
      const admission = d.deliverySender.admit()
      const { delivery, claims } = yield* existing(
        d.storage.deliveries.publishTo(webhookId, event, d.ids.next(), admission),
        'webhook_not_found',
      )
      d.eventNews.committed(projectId)
      d.deliverySender.take(claims, admission)
      return ok(delivery)
    })

const exampleOf = (d: Reading, projectId: string, name: string) =>
  getEventType(d)({ projectId, name }).match(
    ({ example }) => (example ? ok(example) : invalid('event', 'has no example in the catalogue')),
    (error) =>
      error.kind === 'event_type_not_found'
        ? invalid('event', 'is not in the catalogue of event types')
        : err(error),
  )

export const deleteWebhook =
  (d: Changing & Needs<'deliverySender' | 'maintenance'>) =>
  ({ projectId, webhookId, actor }: WebhookCall) =>
    safeTry(async function* () {
      const audit = entryOf(d, { projectId, webhookId, actor }, { action: 'webhook.deleted' })
      yield* existing(d.storage.webhooks.delete(projectId, webhookId, audit), 'webhook_not_found')
      d.deliverySender.webhookDeleted(projectId, webhookId)
      d.maintenance.wake()
      return ok(undefined)
    })

/** A change of `paused` alone has an action of its own. */
function actionOf({ paused, ...others }: WebhookChanges): AuditEntry['action'] {
  if (paused === undefined || changedFields(others).length > 0) return 'webhook.updated'
  return paused ? 'webhook.paused' : 'webhook.resumed'
}

/** Stores the change, and applies it to the deliveries that wait. */
const stored = (
  d: Changing & Needs<'deliverySender'>,
  ref: WebhookCall,
  change: WebhookChange,
  entry: Pick<AuditEntry, 'action' | 'fields'>,
) =>
  chain(
    d.storage.webhooks.update(ref.projectId, ref.webhookId, change, entryOf(d, ref, entry)),
  ).andThen((webhook) => {
    if (!webhook) return fail('webhook_not_found')
    d.deliverySender.webhookChanged(webhook)
    return ok(webhook)
  })

const entryOf = (
  d: Changing,
  { projectId, webhookId, actor }: WebhookCall,
  change: Pick<AuditEntry, 'action' | 'fields'>,
) => auditEntry(d, { projectId, actor, targetId: webhookId, ...change })

const statusFor = (enabled: boolean, now: number): Webhook['status'] =>
  enabled ? { kind: 'enabled' } : { kind: 'disabled', reason: 'operator', at: now }

const HEADERS_STAY =
  'must be given again, or be null, where url leads to another origin: their values were meant for the old one'

const takesHeadersElsewhere = (
  { url: from, headers: kept }: Webhook,
  { url: to, headers }: WebhookChanges,
): boolean =>
  kept !== undefined && headers === undefined && to !== undefined && originOf(to) !== originOf(from)

/** A URL without an origin, which a host's sender can accept, counts as a whole. */
const originOf = (url: string): string => {
  const { origin, href } = new URL(url)
  return origin === 'null' ? href : origin
}

function changeOf(
  d: Needs<'clock' | 'crypto'>,
  { headers, enabled, paused, ...change }: WebhookChanges,
  before: Webhook,
): WebhookChange {
  const now = d.clock.now()
  return {
    ...settingsIn(ownSettings, change),
    ...given({ isPaused: paused }),
    sending: settingsIn(sendingSettings, change),
    ...(change.events && { events: [...new Set(change.events)] }),
    ...(headers !== undefined && { headers: sealedHeaders(d, before.id, headers) }),
    ...toggled(before, enabled, now),
    updatedAt: now,
  }
}

/** Returns undefined if the status is set already, so a webhook that failed keeps that reason. */
function toggled({ status, health }: Webhook, enabled: boolean | undefined, now: number) {
  if (enabled === undefined || enabled === (status.kind === 'enabled')) return {}
  return { status: statusFor(enabled, now), ...(enabled && { health: resumed(health, now) }) }
}
