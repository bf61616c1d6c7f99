import {
  openDeliveries,
  WAITING,
  type DeliveryBacklog,
  type Instant,
  type MessageBacklog,
  type OpenQueue,
} from '@org/agent-messaging-core/storage'
import type { Queries } from './database.js'
import { sql } from './sql.js'

type Now = { readonly now: Instant }
type Waiting = { readonly count: number; readonly oldestAt: Instant | null }
type Webhooks = Pick<DeliveryBacklog, 'disabledWebhooks' | 'openCircuits' | 'halfOpenCircuits'>
type Messages = Omit<MessageBacklog, 'oldestDueAt' | 'oldestAskedAt'> & {
  readonly oldestDueAt: Instant | null
  readonly oldestAskedAt: Instant | null
}

const queuesSql = sql<Now, OpenQueue>(`
  with queues as materialized (
    select webhook_seq, count(*) as open, count(*) filter (where due_at <= @now) as due,
      min(due_at) as oldest
    from agent_messaging.deliveries where due_at is not null group by webhook_seq)
  select w.id as "webhookId", q.open, q.due, q.oldest as "oldestAt",
    (w.is_deleted or w.disabled_at is not null) as "isDisabled", w.paused as "isPaused",
    w.circuit_until as "circuitUntil"
  from queues q join agent_messaging.webhooks w on w.seq = q.webhook_seq`)
const waitingSql = sql<object, Waiting>(`
  select count(*) as count, min(created_at) as "oldestAt"
  from agent_messaging.deliveries where due_at = ${WAITING}`)
const webhooksSql = sql<Now, Webhooks>(`
  select count(disabled_at) as "disabledWebhooks",
    count(*) filter (where circuit_until > @now) as "openCircuits",
    count(*) filter (where circuit_until <= @now) as "halfOpenCircuits"
  from agent_messaging.webhooks
  where not is_deleted and (disabled_at is not null or circuit_until is not null)`)
/** All messages behind a head are queued. */
const messagesSql = sql<Now, Messages>(`
  select coalesce(sum(s.open_count - 1 + (m.state = 'queued')::int), 0)::bigint as queued,
    count(*) filter (where m.state = 'running') as running,
    count(*) filter (where m.state = 'deferred') as deferred,
    count(*) filter (where m.state = 'input_required') as "inputRequired",
    min(m.started_at) filter (where m.state = 'input_required') as "oldestAskedAt",
    min(s.due_at) filter (where m.state = 'queued' and a.state = 'running' and s.due_at <= @now)
      as "oldestDueAt"
  from agent_messaging.sessions s
    join agent_messaging.messages m on m.session_seq = s.seq and m.position = s.head_position
    join agent_messaging.agents a on a.id = s.agent_id
  where s.due_at is not null`)

/**
 * `DeliveryStore.backlog`. Reads the indexes of open and of waiting deliveries, and of unhealthy
 * webhooks.
 */
export async function deliveryBacklog(
  db: Queries,
  now: Instant,
  limited: ReadonlySet<string> = new Set(),
): Promise<DeliveryBacklog> {
  const queues = await db.all(queuesSql, { now })
  // The aggregates always return one row.
  const { count, oldestAt } = (await db.one(waitingSql, {})) as Waiting
  const webhooks = (await db.one(webhooksSql, { now })) as Webhooks
  const waiting = { count, ...(oldestAt !== null && { oldestAt }) }
  return { ...openDeliveries(queues, now, limited, waiting), ...webhooks }
}

/** `MessageStore.backlog`. Reads the open sessions with their heads. */
export async function messageBacklog(db: Queries, now: Instant): Promise<MessageBacklog> {
  const { oldestDueAt, oldestAskedAt, ...counts } = (await db.one(messagesSql, { now })) as Messages
  return {
    ...counts,
    ...(oldestDueAt !== null && { oldestDueAt }),
    ...(oldestAskedAt !== null && { oldestAskedAt }),
  }
}
