import { filled } from '../domain/values/given.js'
import type { Instant } from '../domain/values/instant.js'
import type { Sealed } from '../domain/values/sealed.js'
import type { SendingSettings } from '../domain/webhooks/sending.js'
import type { WebhookFilter } from '../domain/webhooks/webhook-filter.js'
import type { Circuit, WebhookHealth } from '../domain/webhooks/webhook-health.js'
import {
  ownSettings,
  receiverIdOf,
  type ClearableName,
  type Webhook,
} from '../domain/webhooks/webhook.js'
import type { WebhookUpdate } from '../ports/delivery-store.js'

export type WebhookColumns = ReturnType<typeof webhookColumns>
/** A store can return a boolean as a number. */
export type WebhookRow = Omit<WebhookColumns, 'disableOnGone' | 'paused'> & {
  readonly seq: number
  readonly disableOnGone: boolean | number
  readonly paused: boolean | number
}

type OwnSetting = keyof typeof ownSettings
type Properties = readonly (keyof WebhookColumns)[]

/** The columns of `WebhookHealth`. */
export const WEBHOOK_HEALTH: Properties = [
  'consecutiveFailures',
  'failingSince',
  'lastSuccessAt',
  'lastFailureAt',
  'circuitUntil',
  'circuitTrips',
  'reportedFailingSince',
]
/** The columns that an update writes. */
export const WEBHOOK_UPDATE: Properties = [
  // Every setting has a column of its name, except `enabled`.
  ...(Object.keys(ownSettings) as OwnSetting[]).filter((name) => name !== 'enabled'),
  'secret',
  'previousSecret',
  'previousUntil',
  'headerNames',
  'sending',
  'disabledAt',
  'disabledReason',
  ...WEBHOOK_HEALTH,
  'receiver',
  'updatedAt',
]
export const WEBHOOK_COLUMNS: Properties = [
  'id',
  'projectId',
  'messageId',
  'hookName',
  'createdAt',
  ...WEBHOOK_UPDATE,
]

export const toWebhook = (row: WebhookRow): Webhook => ({
  id: row.id,
  projectId: row.projectId,
  url: row.url,
  events: JSON.parse(row.events) as Webhook['events'],
  ...filled({
    filter: row.filter === null ? null : (JSON.parse(row.filter) as WebhookFilter),
    description: row.description,
  } satisfies Record<ClearableName, unknown>),
  secret: row.secret as Sealed,
  ...(row.previousSecret !== null && {
    previousSecret: { secret: row.previousSecret as Sealed, until: row.previousUntil ?? 0 },
  }),
  ...(row.headers !== null && {
    headers: {
      names: JSON.parse(row.headerNames ?? '[]') as string[],
      sealed: row.headers as Sealed,
    },
  }),
  disableOnGone: Boolean(row.disableOnGone),
  ordering: row.ordering,
  payload: row.payload,
  ...(row.sending !== null && { sending: JSON.parse(row.sending) as SendingSettings }),
  isPaused: Boolean(row.paused),
  status:
    row.disabledAt === null
      ? { kind: 'enabled' }
      : { kind: 'disabled', reason: row.disabledReason ?? 'operator', at: row.disabledAt },
  health: toHealth(row),
  ...(row.messageId !== null && {
    hook: { messageId: row.messageId, ...filled({ name: row.hookName }) },
  }),
  createdAt: row.createdAt,
  updatedAt: row.updatedAt,
})

const toHealth = (row: WebhookRow): WebhookHealth => ({
  consecutiveFailures: row.consecutiveFailures,
  ...(row.failingSince !== null && { failingSince: row.failingSince }),
  ...(row.lastSuccessAt !== null && { lastSuccessAt: row.lastSuccessAt }),
  ...(row.lastFailureAt !== null && { lastFailureAt: row.lastFailureAt }),
  circuit:
    row.circuitUntil === null
      ? { kind: 'closed' }
      : { kind: 'open', until: row.circuitUntil, trips: row.circuitTrips },
  ...(row.reportedFailingSince !== null && { reportedFailingSince: row.reportedFailingSince }),
})

/**
 * `disableOnGone` and `paused` are numbers, because SQLite has no boolean. PostgreSQL accepts 0 and
 * 1 for them.
 */
export const webhookColumns = (webhook: Webhook) => ({
  id: webhook.id,
  projectId: webhook.projectId,
  url: webhook.url,
  events: JSON.stringify(webhook.events),
  filter: webhook.filter ? JSON.stringify(webhook.filter) : null,
  description: webhook.description ?? null,
  secret: webhook.secret as string,
  previousSecret: (webhook.previousSecret?.secret ?? null) as string | null,
  previousUntil: webhook.previousSecret?.until ?? null,
  headerNames: webhook.headers ? JSON.stringify(webhook.headers.names) : null,
  headers: (webhook.headers?.sealed ?? null) as string | null,
  disableOnGone: webhook.disableOnGone ? 1 : 0,
  ordering: webhook.ordering,
  payload: webhook.payload,
  sending: webhook.sending ? JSON.stringify(webhook.sending) : null,
  paused: webhook.isPaused ? 1 : 0,
  ...statusColumns(webhook.status),
  ...healthColumns(webhook.health),
  messageId: webhook.hook?.messageId ?? null,
  hookName: webhook.hook?.name ?? null,
  receiver: webhook.hook ? receiverIdOf(webhook) : null,
  createdAt: webhook.createdAt,
  updatedAt: webhook.updatedAt,
})

const statusColumns = (status: Webhook['status']) =>
  status.kind === 'disabled'
    ? { disabledAt: status.at, disabledReason: status.reason }
    : { disabledAt: null, disabledReason: null }

const healthColumns = ({ circuit, ...health }: WebhookHealth) => ({
  consecutiveFailures: health.consecutiveFailures,
  failingSince: health.failingSince ?? null,
  lastSuccessAt: health.lastSuccessAt ?? null,
  lastFailureAt: health.lastFailureAt ?? null,
  reportedFailingSince: health.reportedFailingSince ?? null,
  ...circuitColumns(circuit),
})

/** Returns the time of the last success if the update changes nothing else. */
export function onlySuccess(
  { health: before }: Webhook,
  { change, outgoing }: WebhookUpdate,
): Instant | undefined {
  const { health: after = before, status } = change
  const { lastSuccessAt } = after
  if (lastSuccessAt === undefined || status || outgoing) return undefined
  const expected = healthColumns({ ...before, lastSuccessAt })
  const columns = healthColumns(after)
  const names = Object.keys(columns) as (keyof typeof columns)[]
  return names.every((name) => columns[name] === expected[name]) ? lastSuccessAt : undefined
}

const circuitColumns = (circuit: Circuit) =>
  circuit.kind === 'open'
    ? { circuitUntil: circuit.until, circuitTrips: circuit.trips }
    : { circuitUntil: null, circuitTrips: 0 }
