import type { Instant } from '@org/agent-messaging-core'
import {
  hookGets,
  matchesFilter,
  newClaimedDelivery,
  newDeliveryClaim,
  orderKeyOf,
  ownBody,
  traceColumn,
  WAITING,
  type ClaimedDeliveries,
  type ClaimedDelivery,
  type MessageRow,
  type Outgoing,
  type WebhookEvent,
} from '@org/agent-messaging-core/storage'
import { testedWebhook } from '@org/agent-messaging-sql-kit'
import type { Queries } from '../database/gateway.js'
import { perform } from '../database/operations.js'
import { jsonRows, sql } from '../database/sql.js'
import {
  type Hooks,
  NO_HOOKS,
  readHooks,
  readReceivers,
  type Receivers,
  type StoredWebhook,
  topicOf,
  topicsOf,
} from '../webhooks/receivers.js'

/** A delivery to insert. With lease 1 the delivery is claimed, with lease 0 the delivery is due. */
type NewDelivery = {
  readonly id: string
  readonly webhookSeq: number
  readonly dueAt: Instant
  readonly lease: 0 | 1
  /** If a delivery with this key is open, this one waits. Its `dueAt` and `lease` do not count. */
  readonly orderKey: string | undefined
  readonly body: string | undefined
}
/** The events that have receivers, and the claims on their deliveries. */
export type FanOut = {
  readonly events: readonly ReceivedEvent[]
  readonly claims: ClaimedDeliveries
}
type ReceivedEvent = {
  readonly event: WebhookEvent
  readonly deliveries: readonly NewDelivery[]
}

type InsertedColumns = {
  readonly projectId: string
  readonly eventSeq: number
  readonly createdAt: Instant
  readonly deliveries: string
}
type EventColumns = Pick<WebhookEvent, 'id' | 'projectId' | 'name' | 'body' | 'createdAt'> & {
  readonly hasDeliveries: boolean
  readonly messageId: string | null
  readonly sessionId: string | null
  readonly trace: string | null
}

const insertEventSql = sql<EventColumns, { readonly seq: number }>(`
  insert into agent_messaging.events
    (id, project_id, has_deliveries, message_id, session_id, name, body, trace, created_at)
  values (@id, @projectId, @hasDeliveries, @messageId, @sessionId, @name, @body, @trace, @createdAt)
  returning seq`)
const insertDeliveriesSql = sql<InsertedColumns, { readonly id: string; readonly dueAt: Instant }>(`
  insert into agent_messaging.deliveries
    (id, project_id, webhook_seq, event_seq, state, step, attempt_count, due_at, lease, order_key,
      body, created_at)
  select id, @projectId, "webhookSeq", @eventSeq,
    case when lease = 0 or waits then 'pending' else 'sending' end, 0, 0,
    case when waits then ${WAITING} else "dueAt" end, case when waits then 0 else lease end,
    "orderKey", body, @createdAt
  from rows from (jsonb_to_recordset(@deliveries::jsonb) as (id text, "webhookSeq" bigint,
      "dueAt" bigint, lease bigint, "orderKey" text, body text)) with ordinality as given
    cross join lateral (select given."orderKey" is not null and exists (
      select 1 from agent_messaging.deliveries d
      where d.order_key = given."orderKey" and d.finished_at is null) as waits) ordered
  order by ordinality returning id, due_at as "dueAt"`)
const lockOrdersSql = sql<{ readonly orderKeys: readonly string[] }>(
  'select agent_messaging.lock_orders(@orderKeys)',
)

/**
 * Inserts events and their deliveries, within a transaction. Returns the claimed deliveries.
 * `message` is the row of the events' message, if any, read after the lock on its session.
 */
export async function fanOut(
  db: Queries,
  outgoing: Outgoing,
  message?: Pick<MessageRow, 'id' | 'hookVersion'>,
): Promise<ClaimedDeliveries> {
  const receivers = await readReceivers(db, topicsOf([outgoing]))
  const hooks =
    message && message.hookVersion !== null ? await readHooks(db, [message.id]) : NO_HOOKS
  const { events, claims } = fanOutTo(outgoing, receivers, hooks)
  const waiting: string[] = []
  for (const { event, deliveries } of events) waiting.push(...(await insert(db, event, deliveries)))
  return notWaiting(claims, new Set(waiting))
}

/** Returns the claims, except those of deliveries that turned out to wait in their order. */
export const notWaiting = (
  { deliveries, skipped }: ClaimedDeliveries,
  waiting: ReadonlySet<string>,
): ClaimedDeliveries =>
  waiting.size === 0
    ? { deliveries, skipped }
    : { deliveries: deliveries.filter(({ delivery }) => !waiting.has(delivery.id)), skipped }

/** Decides which deliveries each event gets. */
export function fanOutTo(outgoing: Outgoing, receivers: Receivers, hooks: Hooks): FanOut {
  const claims = { deliveries: [], skipped: [] }
  const events = outgoing.events.map((event) => ({
    event,
    deliveries: deliveriesOf(event, outgoing, receiversOf(event, receivers, hooks), claims),
  }))
  return { events, claims }
}

function receiversOf(
  event: WebhookEvent,
  receivers: Receivers,
  hooks: Hooks,
): readonly StoredWebhook[] {
  const subscribed = receivers.get(topicOf(event))?.webhooks ?? []
  const own = event.messageId === undefined ? undefined : hooks.get(event.messageId)
  return own
    ? [...subscribed, ...own.receivers.filter(({ webhook }) => hookGets(webhook, event))]
    : subscribed
}

/** Adds to `claims`. */
function deliveriesOf(
  event: WebhookEvent,
  { nextDeliveryId, notTo, claim }: Outgoing,
  receivers: readonly StoredWebhook[],
  claims: { readonly deliveries: ClaimedDelivery[]; readonly skipped: string[] },
): NewDelivery[] {
  const deliveries: NewDelivery[] = []
  for (const { seq, webhook } of receivers) {
    if (webhook.id === notTo || !matchesFilter(webhook.filter, event)) continue
    const id = nextDeliveryId()
    const { until, skipped } = newDeliveryClaim(webhook, claim)
    deliveries.push({
      id,
      webhookSeq: seq,
      dueAt: until ?? event.createdAt,
      lease: until === undefined ? 0 : 1,
      orderKey: orderKeyOf(webhook, event),
      body: ownBody(webhook, event),
    })
    if (until !== undefined) claims.deliveries.push(newClaimedDelivery(id, event, webhook, until))
    if (skipped !== undefined) claims.skipped.push(skipped)
  }
  return deliveries
}

/** `DeliveryStore.publishTo`, within a transaction. Returns undefined if the webhook does not exist. */
export async function publishTo(
  db: Queries,
  webhookId: string,
  event: WebhookEvent,
  deliveryId: string,
  claim: Outgoing['claim'],
): Promise<ClaimedDeliveries | undefined> {
  const tested = await perform(db, testedWebhook, webhookId, event, deliveryId, claim)
  if (!tested) return undefined
  const { seq: webhookSeq, body, until, claims } = tested
  await insert(db, event, [
    {
      id: deliveryId,
      webhookSeq,
      dueAt: until ?? event.createdAt,
      lease: until === undefined ? 0 : 1,
      orderKey: undefined,
      body,
    },
  ])
  return claims
}

/** Returns the ids of deliveries that wait in their order. */
async function insert(
  db: Queries,
  event: WebhookEvent,
  deliveries: readonly NewDelivery[],
): Promise<string[]> {
  const { id, messageId = null, sessionId = null, name, body, trace, projectId, createdAt } = event
  const row = await db.one(insertEventSql, {
    id,
    projectId,
    hasDeliveries: deliveries.length > 0,
    messageId,
    sessionId,
    name,
    body,
    trace: traceColumn(trace),
    createdAt,
  })
  if (!row) throw new Error('the insert of an event returned no row')
  if (deliveries.length === 0) return []
  const orderKeys = deliveries.flatMap(({ orderKey }) => orderKey ?? [])
  if (orderKeys.length > 0) await db.run(lockOrdersSql, { orderKeys })
  const inserted = await db.all(insertDeliveriesSql, {
    projectId,
    eventSeq: row.seq,
    createdAt,
    deliveries: jsonRows(deliveries),
  })
  return inserted.flatMap(({ id: one, dueAt }) => (dueAt === WAITING ? one : []))
}
