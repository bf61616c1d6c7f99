import type { Instant } from '@org/agent-messaging-core'
import {
  hookGets,
  matchesFilter,
  newClaimedDelivery,
  newDeliveryClaim,
  orderKeyOf,
  ownBody,
  publishedColumns,
  traceColumn,
  type ClaimedDeliveries,
  type ClaimedDelivery,
  type MessageRow,
  type Outgoing,
  type WebhookEvent,
} from '@org/agent-messaging-core/storage'
import { testedWebhook } from '@org/agent-messaging-sql-kit'
import type { Queries } from '../database/gateway.js'
import { perform } from '../database/operations.js'
import { call, jsonRows, withoutNulls } from '../database/sql.js'
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
  /** Absent: the webhook itself. */
  readonly receiverSeq?: number | undefined
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

const addSql = call<{ readonly events: string }, { readonly waiting: readonly string[] }>(
  'select agent_messaging.add_events(@events) as waiting',
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
  return notWaiting(claims, new Set(await insert(db, events)))
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
  for (const { seq, receiverSeq, webhook } of receivers) {
    if (webhook.id === notTo || !matchesFilter(webhook.filter, event)) continue
    const id = nextDeliveryId()
    const { until, skipped } = newDeliveryClaim(webhook, claim)
    deliveries.push({
      id,
      webhookSeq: seq,
      receiverSeq,
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
  const delivery = {
    id: deliveryId,
    webhookSeq,
    dueAt: until ?? event.createdAt,
    lease: until === undefined ? 0 : 1,
    orderKey: undefined,
    body,
  } as const
  await insert(db, [{ event, deliveries: [delivery] }])
  return claims
}

/** Returns the ids of deliveries that wait in their order. */
async function insert(db: Queries, events: readonly ReceivedEvent[]): Promise<readonly string[]> {
  const row = await db.one(addSql, { events: jsonRows(eventRows(events)) })
  return row?.waiting ?? []
}

/** Returns the rows of `add_events`. A column that is null stays away. */
export const eventRows = (events: readonly ReceivedEvent[]) =>
  events.map(({ event, deliveries }) => ({
    id: event.id,
    projectId: event.projectId,
    messageId: event.messageId,
    sessionId: event.sessionId,
    name: event.name,
    body: event.body,
    trace: traceColumn(event.trace) ?? undefined,
    createdAt: event.createdAt,
    ...(event.published && withoutNulls(publishedColumns(event))),
    deliveries,
  }))
