import {
  matchesFilter,
  newClaimedDelivery,
  newDeliveryClaim,
  toWebhook,
  traceColumn,
  type ClaimedDelivery,
  type EventName,
  type Instant,
  type Outgoing,
  type Webhook,
  type WebhookEvent,
  type WebhookRow,
} from '@org/agent-messaging-core/storage'
import type { Queries } from './database.js'
import { makeReadyToProbe } from './probe-readiness.js'
import { sql } from './sql.js'
import { webhookList } from './webhook-row.js'

/** A delivery to insert. With lease 1 the delivery is claimed, with lease 0 the delivery is due. */
export type NewDelivery = {
  readonly id: string
  readonly webhookSeq: number
  readonly dueAt: Instant
  readonly lease: 0 | 1
}
/** The deliveries of an event, and the claimed ones among them as their claims. */
export type FanOut = {
  readonly deliveries: readonly NewDelivery[]
  readonly claimed: readonly ClaimedDelivery[]
}

type InsertedColumns = {
  readonly projectId: string
  readonly eventSeq: number
  readonly createdAt: Instant
} & {
  readonly ids: readonly string[]
  readonly webhookSeqs: readonly number[]
  readonly dueAts: readonly Instant[]
  readonly leases: readonly number[]
}
type EventColumns = Pick<WebhookEvent, 'id' | 'name' | 'body' | 'createdAt'> & {
  readonly trace: string | null
}
type Topics = {
  readonly projectIds: readonly string[]
  readonly names: readonly EventName[]
}

const subscribedSql = sql<Topics, WebhookRow & { readonly topic: number }>(`
  select topic, ${webhookList}
  from agent_messaging.subscribers(@projectIds, @names) subscriber,
    lateral (select (subscriber.webhook).*) w`)
const webhookSql = sql<
  { readonly id: string; readonly projectId: string },
  { readonly seq: number }
>(`
  select seq from agent_messaging.webhooks
  where id = @id and project_id = @projectId and not is_deleted`)
const insertEventSql = sql<EventColumns, { readonly seq: number }>(`
  insert into agent_messaging.events (id, name, body, trace, created_at)
  values (@id, @name, @body, @trace, @createdAt) returning seq`)
const insertDeliveriesSql = sql<InsertedColumns>(`
  insert into agent_messaging.deliveries
    (id, project_id, webhook_seq, event_seq, state, step, attempt_count, due_at, lease, created_at)
  select id, @projectId, webhook_seq, @eventSeq,
    case lease when 1 then 'sending' else 'pending' end, 0, 0, due_at, lease, @createdAt
  from unnest(@ids::text[], @webhookSeqs::bigint[], @dueAts::bigint[], @leases::bigint[])
    with ordinality as given (id, webhook_seq, due_at, lease, place)
  order by place`)

/** Inserts an event and its deliveries, within a transaction. Returns the claimed deliveries. */
export async function fanOut(db: Queries, outgoing: Outgoing): Promise<readonly ClaimedDelivery[]> {
  const [{ deliveries, claimed } = NO_RECEIVERS] = await fanOuts(db, [outgoing])
  if (deliveries.length > 0) await insert(db, outgoing.event, deliveries)
  return claimed
}

/** Decides which deliveries each event gets. Reads the subscribed webhooks with one statement. */
export async function fanOuts(
  db: Queries,
  all: readonly (Outgoing | undefined)[],
): Promise<FanOut[]> {
  const topics = new Map(
    all.flatMap((outgoing) =>
      outgoing ? [[topicOf(outgoing.event), outgoing.event] as const] : [],
    ),
  )
  const receivers = new Map<string, { seq: number; webhook: Webhook }[]>(
    [...topics.keys()].map((topic) => [topic, []]),
  )
  const lists = [...receivers.values()]
  const events = [...topics.values()]
  if (events.length === 0) return all.map(() => NO_RECEIVERS)
  const rows = await db.all(subscribedSql, {
    projectIds: events.map(({ projectId }) => projectId),
    names: events.map(({ name }) => name),
  })
  for (const row of rows) lists[row.topic]?.push({ seq: row.seq, webhook: toWebhook(row) })
  return all.map((outgoing) =>
    outgoing ? fanOutTo(outgoing, receivers.get(topicOf(outgoing.event)) ?? []) : NO_RECEIVERS,
  )
}

const NO_RECEIVERS: FanOut = { deliveries: [], claimed: [] }
const topicOf = ({ projectId, name }: WebhookEvent): string => JSON.stringify([projectId, name])

function fanOutTo(
  { event, nextDeliveryId, notTo, claim }: Outgoing,
  receivers: readonly { seq: number; webhook: Webhook }[],
): FanOut {
  const deliveries: NewDelivery[] = []
  const claimed: ClaimedDelivery[] = []
  for (const { seq, webhook } of receivers) {
    if (webhook.id === notTo || !matchesFilter(webhook.filter, event)) continue
    const id = nextDeliveryId()
    const until = newDeliveryClaim(webhook, claim)
    deliveries.push(
      until === undefined
        ? { id, webhookSeq: seq, dueAt: event.createdAt, lease: 0 }
        : { id, webhookSeq: seq, dueAt: until, lease: 1 },
    )
    if (until !== undefined) claimed.push(newClaimedDelivery(id, event, webhook, until))
  }
  return { deliveries, claimed }
}

/** `DeliveryStore.publishTo`, within a transaction. Returns false if the webhook does not exist. */
export async function publishTo(
  db: Queries,
  webhookId: string,
  event: WebhookEvent,
  deliveryId: string,
): Promise<boolean> {
  const webhook = await db.one(webhookSql, { id: webhookId, projectId: event.projectId })
  if (!webhook) return false
  await makeReadyToProbe(db, [webhookId], event.createdAt)
  await insert(db, event, [
    { id: deliveryId, webhookSeq: webhook.seq, dueAt: event.createdAt, lease: 0 },
  ])
  return true
}

async function insert(
  db: Queries,
  event: WebhookEvent,
  deliveries: readonly NewDelivery[],
): Promise<void> {
  const { id, name, body, trace, projectId, createdAt } = event
  const row = await db.one(insertEventSql, { id, name, body, trace: traceColumn(trace), createdAt })
  if (!row) throw new Error('the insert of an event returned no row')
  await db.run(insertDeliveriesSql, {
    projectId,
    eventSeq: row.seq,
    createdAt,
    ids: deliveries.map((delivery) => delivery.id),
    webhookSeqs: deliveries.map(({ webhookSeq }) => webhookSeq),
    dueAts: deliveries.map(({ dueAt }) => dueAt),
    leases: deliveries.map(({ lease }) => lease),
  })
}
