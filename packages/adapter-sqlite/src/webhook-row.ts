import type {
  Circuit,
  DisabledReason,
  Sealed,
  Webhook,
  WebhookHealth,
} from '@org/agent-messaging-core/storage'

export type WebhookRow = ReturnType<typeof webhookColumns> & { readonly seq: number }

/** Append joins or a `where`. */
export const selectWebhook = `
  select w.seq, w.id, w.project_id as projectId, w.url, w.events, w.agent_id as agentId, w.description, w.secret,
    w.header_names as headerNames, w.headers, w.previous_secret as previousSecret, w.previous_until as previousUntil, w.disable_on_gone as disableOnGone,
    w.disabled_at as disabledAt, w.disabled_reason as disabledReason, w.consecutive_failures as consecutiveFailures,
    w.failing_since as failingSince, w.last_success_at as lastSuccessAt, w.last_failure_at as lastFailureAt,
    w.circuit_until as circuitUntil, w.circuit_trips as circuitTrips, w.created_at as createdAt, w.updated_at as updatedAt
  from webhooks w`

/** Binds `webhookColumns`. */
export const updateWebhookSql = `
  update webhooks set url = @url, events = @events, agent_id = @agentId, description = @description, secret = @secret,
    header_names = @headerNames, headers = @headers,
    previous_secret = @previousSecret, previous_until = @previousUntil, disable_on_gone = @disableOnGone,
    disabled_at = @disabledAt, disabled_reason = @disabledReason, consecutive_failures = @consecutiveFailures,
    failing_since = @failingSince, last_success_at = @lastSuccessAt, last_failure_at = @lastFailureAt,
    circuit_until = @circuitUntil, circuit_trips = @circuitTrips, updated_at = @updatedAt
  where id = @id`

export const toWebhook = (row: WebhookRow): Webhook => ({
  id: row.id,
  projectId: row.projectId,
  url: row.url,
  events: JSON.parse(row.events) as Webhook['events'],
  ...(row.agentId !== null && { agentId: row.agentId }),
  ...(row.description !== null && { description: row.description }),
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
  disableOnGone: row.disableOnGone === 1,
  status:
    row.disabledAt === null
      ? { kind: 'enabled' }
      : { kind: 'disabled', reason: row.disabledReason ?? 'operator', at: row.disabledAt },
  health: toHealth(row),
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
})

export const webhookColumns = (webhook: Webhook) => ({
  id: webhook.id,
  projectId: webhook.projectId,
  url: webhook.url,
  events: JSON.stringify(webhook.events),
  agentId: webhook.agentId ?? null,
  description: webhook.description ?? null,
  secret: webhook.secret as string,
  previousSecret: (webhook.previousSecret?.secret ?? null) as string | null,
  previousUntil: webhook.previousSecret?.until ?? null,
  headerNames: webhook.headers ? JSON.stringify(webhook.headers.names) : null,
  headers: (webhook.headers?.sealed ?? null) as string | null,
  disableOnGone: webhook.disableOnGone ? 1 : 0,
  ...statusColumns(webhook.status),
  ...healthColumns(webhook.health),
  createdAt: webhook.createdAt,
  updatedAt: webhook.updatedAt,
})

const statusColumns = (
  status: Webhook['status'],
): { disabledAt: number | null; disabledReason: DisabledReason | null } =>
  status.kind === 'disabled'
    ? { disabledAt: status.at, disabledReason: status.reason }
    : { disabledAt: null, disabledReason: null }

const healthColumns = ({ circuit, ...health }: WebhookHealth) => ({
  consecutiveFailures: health.consecutiveFailures,
  failingSince: health.failingSince ?? null,
  lastSuccessAt: health.lastSuccessAt ?? null,
  lastFailureAt: health.lastFailureAt ?? null,
  ...circuitColumns(circuit),
})

const circuitColumns = (circuit: Circuit): { circuitUntil: number | null; circuitTrips: number } =>
  circuit.kind === 'open'
    ? { circuitUntil: circuit.until, circuitTrips: circuit.trips }
    : { circuitUntil: null, circuitTrips: 0 }
