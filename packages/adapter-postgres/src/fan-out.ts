import type { ClaimedDelivery, EventName, Instant, Outgoing, Webhook, WebhookEvent } from '@org/agent-messaging-core'
import type { Queries } from './database.js'
import { makeReadyToProbe } from './probe-readiness.js'
import { sql } from './sql.js'
import { traceColumn } from './trace.js'
import { selectWebhook, toWebhook, type WebhookRow } from './webhook-row.js'

/** A delivery as it is born. */
type Born = {
  readonly id: string
  readonly webhookSeq: number
  readonly state: 'pending' | 'sending'
  readonly dueAt: Instant
  readonly lease: 0 | 1
}
type InsertedColumns = { readonly projectId: string; readonly eventSeq: number; readonly createdAt: Instant } & {
  readonly ids: readonly string[]
  readonly webhookSeqs: readonly number[]
  readonly states: readonly string[]
  readonly dueAts: readonly Instant[]
  readonly leases: readonly number[]
}
type EventColumns = Pick<WebhookEvent, 'id' | 'name' | 'body' | 'createdAt'> & { readonly trace: string | null }
type Subscription = { readonly projectId: string; readonly name: EventName; readonly agentId: string | null }

const subscribedSql = sql<Subscription, WebhookRow>(`
  ${selectWebhook} join agent_messaging.subscriptions s on s.webhook_seq = w.seq
  where s.project_id = @projectId and s.event in ('*', @name) and (w.agent_id is null or w.agent_id = @agentId) order by w.seq`)
const webhookSql = sql<{ readonly id: string; readonly projectId: string }, { readonly seq: number }>(
  'select seq from agent_messaging.webhooks where id = @id and project_id = @projectId and not is_deleted',
)
const insertEventSql = sql<EventColumns, { readonly seq: number }>(`
  insert into agent_messaging.events (id, name, body, trace, created_at) values (@id, @name, @body, @trace, @createdAt) returning seq`)
const insertDeliveriesSql = sql<InsertedColumns>(`
  insert into agent_messaging.deliveries
    (id, project_id, webhook_seq, event_seq, state, step, attempt_count, due_at, lease, created_at)
  select id, @projectId, webhook_seq, @eventSeq, state, 0, 0, due_at, lease, @createdAt
  from unnest(@ids::text[], @webhookSeqs::bigint[], @states::text[], @dueAts::bigint[], @leases::bigint[]) with ordinality
    as born (id, webhook_seq, state, due_at, lease, place) order by place`)

/** Makes an event and its deliveries within the transaction of the fact that it reports; gives those that are born claimed. */
export async function fanOut(db: Queries, { event, nextDeliveryId, notTo, claim }: Outgoing): Promise<ClaimedDelivery[]> {
  const { projectId, name, agentId = null } = event
  const subscribed = await db.all(subscribedSql, { projectId, name, agentId })
  const receivers = subscribed
    .filter(({ id }) => id !== notTo)
    .map((row) => {
      const webhook = toWebhook(row)
      return { webhook, webhookSeq: row.seq, id: nextDeliveryId(), until: claimUntil(webhook, claim) }
    })
  // An event that nobody is to hear of is kept nowhere.
  if (receivers.length === 0) return []
  await insert(
    db,
    event,
    receivers.map(({ id, webhookSeq, until }) => ({ id, webhookSeq, ...(until === undefined ? due(event.createdAt) : claimed(until)) })),
  )
  return receivers.flatMap(({ id, webhook, until }) => (until === undefined ? [] : [claimedDelivery(id, event, webhook, until)]))
}

/** `DeliveryStore.publishTo`, within a transaction: gives whether the webhook is there. */
export async function publishTo(db: Queries, webhookId: string, event: WebhookEvent, deliveryId: string): Promise<boolean> {
  const webhook = await db.one(webhookSql, { id: webhookId, projectId: event.projectId })
  if (!webhook) return false
  await makeReadyToProbe(db, [webhookId], event.createdAt)
  await insert(db, event, [{ id: deliveryId, webhookSeq: webhook.seq, ...due(event.createdAt) }])
  return true
}

/** The only place that inserts deliveries. */
async function insert(db: Queries, event: WebhookEvent, deliveries: readonly Born[]): Promise<void> {
  const { id, name, body, trace, projectId, createdAt } = event
  const row = await db.one(insertEventSql, { id, name, body, trace: traceColumn(trace), createdAt })
  if (!row) throw new Error('an insert gave no row')
  await db.run(insertDeliveriesSql, {
    ...{ projectId, eventSeq: row.seq, createdAt },
    ids: deliveries.map((born) => born.id),
    webhookSeqs: deliveries.map((born) => born.webhookSeq),
    states: deliveries.map((born) => born.state),
    dueAts: deliveries.map((born) => born.dueAt),
    leases: deliveries.map((born) => born.lease),
  })
}

const due = (dueAt: Instant) => ({ state: 'pending', dueAt, lease: 0 }) as const
const claimed = (dueAt: Instant) => ({ state: 'sending', dueAt, lease: 1 }) as const

function claimUntil({ id, projectId, status, health }: Webhook, claim: Outgoing['claim']): Instant | undefined {
  const isReady = status.kind === 'enabled' && health.circuit.kind === 'closed'
  return claim && isReady && !claim.except.has(id) && !claim.except.has(projectId) ? claim.until : undefined
}

function claimedDelivery(id: string, event: WebhookEvent, webhook: Webhook, until: Instant): ClaimedDelivery {
  const state = { kind: 'sending', leaseUntil: until, step: 0 } as const
  const { projectId, createdAt } = event
  const delivery = { id, projectId, webhookId: webhook.id, eventId: event.id, event: event.name, attemptCount: 0, state, createdAt }
  return { delivery, lease: { token: 1, until }, webhook, body: event.body, ...(event.trace && { trace: event.trace }) }
}
