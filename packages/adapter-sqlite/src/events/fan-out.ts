import type { Database } from 'better-sqlite3'
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
  WAITING,
  type ClaimedDeliveries,
  type ClaimedDelivery,
  type MessageRow,
  type Outgoing,
  type WebhookEvent,
} from '@org/agent-messaging-core/storage'
import { DeliveryOrders } from '../deliveries/delivery-order.js'
import { testedWebhook } from '@org/agent-messaging-sql-kit'
import type { Perform } from '../database/operations.js'
import type { StoredWebhook, WebhookRows } from '../webhooks/receivers.js'

/**
 * Stores events with their deliveries, in the transaction of the change that they report. Returns
 * the deliveries that are created claimed. `message` is the row of the events' message, if any: a
 * message without hooks needs no search for them.
 */
export type FanOut = (
  outgoing: Outgoing,
  message?: Pick<MessageRow, 'hookVersion'>,
) => ClaimedDeliveries

type Inserted = {
  readonly id: string
  readonly webhookSeq: number
  readonly receiverSeq?: number | undefined
  readonly eventSeq: number | bigint
  readonly dueAt: Instant
  /** 1 if the delivery is claimed. */
  readonly lease: 0 | 1
  readonly orderKey: string | null
  readonly body: string | undefined
}

/** Each answer inserts deliveries. The driver binds values by place faster than by name. */
type DeliveryValues = [
  id: string,
  projectId: string,
  webhookSeq: number,
  receiverSeq: number,
  eventSeq: number | bigint,
  isClaimed: 0 | 1,
  dueAt: Instant,
  lease: 0 | 1,
  orderKey: string | null,
  body: string | null,
  createdAt: Instant,
]
type EventValues = [
  id: string,
  projectId: string,
  hasDeliveries: 0 | 1,
  messageId: string | null,
  sessionId: string | null,
  name: string,
  body: string,
  trace: string | null,
  createdAt: Instant,
  ...published: (string | null)[],
]

/** Returns the webhooks that get the event. */
export const receiversOf = (
  webhooks: WebhookRows,
  event: WebhookEvent,
  notTo?: string,
): StoredWebhook[] =>
  webhooks
    .subscribed(event.projectId, event.name)
    .filter(({ webhook }) => webhook.id !== notTo && matchesFilter(webhook.filter, event))

export function fanOutOf(db: Database, webhooks: WebhookRows): FanOut {
  const insert = insertsOf(db)
  const orders = new DeliveryOrders(db)

  const hooksFor = (event: WebhookEvent): StoredWebhook[] =>
    webhooks.hooksOf(event.messageId ?? '').filter(({ webhook }) => hookGets(webhook, event))

  const publish = (
    event: WebhookEvent,
    { nextDeliveryId, notTo, claim }: Outgoing,
    hasHooks: boolean,
    deliveries: ClaimedDelivery[],
    skippedIds: string[],
  ): void => {
    const receivers = receiversOf(webhooks, event, notTo)
    if (hasHooks) receivers.push(...hooksFor(event))
    const eventSeq = insert.event(event, receivers.length === 0 ? 0 : 1)
    for (const { seq: webhookSeq, receiverSeq, webhook } of receivers) {
      const id = nextDeliveryId()
      const orderKey = orderKeyOf(webhook, event) ?? null
      const isWaiting = orderKey !== null && orders.hasOpen(orderKey)
      const { until, skipped } = newDeliveryClaim(webhook, isWaiting ? undefined : claim)
      const row = until === undefined ? due(isWaiting ? WAITING : event.createdAt) : claimed(until)
      insert.delivery(event, {
        id,
        webhookSeq,
        receiverSeq,
        eventSeq,
        ...row,
        orderKey,
        body: ownBody(webhook, event),
      })
      if (until !== undefined) deliveries.push(newClaimedDelivery(id, event, webhook, until))
      if (skipped !== undefined) skippedIds.push(skipped)
    }
  }

  return (outgoing, { hookVersion } = { hookVersion: null }) => {
    const deliveries: ClaimedDelivery[] = []
    const skipped: string[] = []
    for (const event of outgoing.events)
      publish(event, outgoing, hookVersion !== null, deliveries, skipped)
    return { deliveries, skipped }
  }
}

/** `DeliveryStore.publishTo`, in a transaction. Returns undefined if the webhook does not exist. */
export function publisherOf(
  db: Database,
  webhooks: WebhookRows,
  perform: Perform,
): (
  webhookId: string,
  event: WebhookEvent,
  deliveryId: string,
  claim: Outgoing['claim'],
) => ClaimedDeliveries | undefined {
  const insert = insertsOf(db)
  return (webhookId, event, deliveryId, claim) => {
    webhooks.changed()
    const tested = perform(testedWebhook, webhookId, event, deliveryId, claim)
    if (!tested) return undefined
    const { seq: webhookSeq, body, until, claims } = tested
    insert.delivery(event, {
      id: deliveryId,
      webhookSeq,
      eventSeq: insert.event(event, 1),
      ...(until === undefined ? due(event.createdAt) : claimed(until)),
      orderKey: null,
      body,
    })
    return claims
  }
}

function insertsOf(db: Database) {
  const insertEvent = db.prepare<EventValues>(
    'insert into events (id, project_id, has_deliveries, message_id, session_id, name, body, trace, created_at, end_user_id, agent_id, fingerprint) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)',
  )
  const insertDelivery = db.prepare<DeliveryValues>(`
    insert into deliveries (id, project_id, webhook_seq, receiver_seq, event_seq, state, step, attempt_count, is_claimed, due_at, lease, order_key, body, created_at)
    values (?, ?, ?, ?, ?, 'pending', 0, 0, ?, ?, ?, ?, ?, ?)`)
  return {
    /** Returns the event's `seq`. */
    event: (event: WebhookEvent, hasDeliveries: 0 | 1): number | bigint => {
      const { id, projectId, messageId, sessionId, name, body, trace, createdAt } = event
      return insertEvent.run(
        id,
        projectId,
        hasDeliveries,
        messageId ?? null,
        sessionId ?? null,
        name,
        body,
        traceColumn(trace),
        createdAt,
        ...(event.published ? publishedValues(event) : OF_THE_SERVICE),
      ).lastInsertRowid
    },
    delivery: (
      { projectId, createdAt }: WebhookEvent,
      {
        id,
        webhookSeq,
        receiverSeq = webhookSeq,
        eventSeq,
        dueAt,
        lease,
        orderKey,
        body,
      }: Inserted,
    ) =>
      void insertDelivery.run(
        id,
        projectId,
        webhookSeq,
        receiverSeq,
        eventSeq,
        lease,
        dueAt,
        lease,
        orderKey,
        body ?? null,
        createdAt,
      ),
  }
}

const OF_THE_SERVICE = [null, null, null]

function publishedValues(event: WebhookEvent): (string | null)[] {
  const { endUserId, agentId, fingerprint } = publishedColumns(event)
  return [endUserId, agentId, fingerprint]
}

const due = (dueAt: Instant) => ({ dueAt, lease: 0 }) as const
const claimed = (dueAt: Instant) => ({ dueAt, lease: 1 }) as const
