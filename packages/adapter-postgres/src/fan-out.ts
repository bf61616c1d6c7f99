import {
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

/** A delivery as it is born: under lease 1, or due under none. */
export type Born = {
  readonly id: string
  readonly webhookSeq: number
  readonly dueAt: Instant
  readonly lease: 0 | 1
}
/** What an event comes to: its deliveries, none if nobody is to hear of it, and those of them that are born claimed. */
export type FanOut = {
  readonly born: readonly Born[]
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
  readonly agentIds: readonly (string | null)[]
}

const subscribedSql = sql<Topics, WebhookRow & { readonly topic: number }>(`
  select topic, ${webhookList}
  from agent_messaging.subscribers(@projectIds, @names, @agentIds) subscriber, lateral (select (subscriber.webhook).*) w`)
const webhookSql = sql<
  { readonly id: string; readonly projectId: string },
  { readonly seq: number }
>(
  'select seq from agent_messaging.webhooks where id = @id and project_id = @projectId and not is_deleted',
)
const insertEventSql = sql<EventColumns, { readonly seq: number }>(`
  insert into agent_messaging.events (id, name, body, trace, created_at) values (@id, @name, @body, @trace, @createdAt) returning seq`)
const insertDeliveriesSql = sql<InsertedColumns>(`
  insert into agent_messaging.deliveries
    (id, project_id, webhook_seq, event_seq, state, step, attempt_count, due_at, lease, created_at)
  select id, @projectId, webhook_seq, @eventSeq, case lease when 1 then 'sending' else 'pending' end, 0, 0, due_at, lease, @createdAt
  from unnest(@ids::text[], @webhookSeqs::bigint[], @dueAts::bigint[], @leases::bigint[]) with ordinality
    as born (id, webhook_seq, due_at, lease, place) order by place`)

/** Makes an event and its deliveries within the transaction of the fact that it reports; gives those that are born claimed. */
export async function fanOut(db: Queries, outgoing: Outgoing): Promise<readonly ClaimedDelivery[]> {
  const [{ born, claimed } = NOBODY] = await fanOuts(db, [outgoing])
  if (born.length > 0) await insert(db, outgoing.event, born)
  return claimed
}

/** To whom each of these goes, by one statement for all. */
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
  if (events.length === 0) return all.map(() => NOBODY)
  const rows = await db.all(subscribedSql, {
    projectIds: events.map(({ projectId }) => projectId),
    names: events.map(({ name }) => name),
    agentIds: events.map(({ agentId }) => agentId ?? null),
  })
  for (const row of rows) lists[row.topic]?.push({ seq: row.seq, webhook: toWebhook(row) })
  return all.map((outgoing) =>
    outgoing ? fanOutTo(outgoing, receivers.get(topicOf(outgoing.event)) ?? []) : NOBODY,
  )
}

const NOBODY: FanOut = { born: [], claimed: [] }
const topicOf = ({ projectId, name, agentId }: WebhookEvent): string =>
  JSON.stringify([projectId, name, agentId])

function fanOutTo(
  { event, nextDeliveryId, notTo, claim }: Outgoing,
  receivers: readonly { seq: number; webhook: Webhook }[],
): FanOut {
  const born: Born[] = []
  const claimed: ClaimedDelivery[] = []
  for (const { seq, webhook } of receivers) {
    if (webhook.id === notTo) continue
    const [id, until] = [nextDeliveryId(), newDeliveryClaim(webhook, claim)]
    born.push(
      until === undefined
        ? { id, webhookSeq: seq, dueAt: event.createdAt, lease: 0 }
        : { id, webhookSeq: seq, dueAt: until, lease: 1 },
    )
    if (until !== undefined) claimed.push(newClaimedDelivery(id, event, webhook, until))
  }
  return { born, claimed }
}

/** `DeliveryStore.publishTo`, within a transaction: gives whether the webhook is there. */
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
  deliveries: readonly Born[],
): Promise<void> {
  const { id, name, body, trace, projectId, createdAt } = event
  const row = await db.one(insertEventSql, { id, name, body, trace: traceColumn(trace), createdAt })
  if (!row) throw new Error('an insert gave no row')
  await db.run(insertDeliveriesSql, {
    ...{ projectId, eventSeq: row.seq, createdAt },
    ids: deliveries.map((born) => born.id),
    webhookSeqs: deliveries.map((born) => born.webhookSeq),
    dueAts: deliveries.map((born) => born.dueAt),
    leases: deliveries.map((born) => born.lease),
  })
}
