import type { DeliveryBacklog, Instant, MessageBacklog } from '@org/agent-messaging-core/storage'
import type { Queries } from './database.js'
import { sql } from './sql.js'

type Now = { readonly now: Instant }
type Deliveries = {
  readonly open: number
  readonly due: number
  readonly held: number
  readonly oldestDueAt: Instant | null
}
type Webhooks = Pick<DeliveryBacklog, 'disabledWebhooks' | 'openCircuits' | 'halfOpenCircuits'>
type Messages = Omit<MessageBacklog, 'oldestDueAt'> & { readonly oldestDueAt: Instant | null }

const deliveriesSql = sql<Now, Deliveries>(`
  with queues as materialized (
    select webhook_seq, count(*) as open, count(*) filter (where due_at <= @now) as due,
      min(due_at) as oldest
    from agent_messaging.deliveries where due_at is not null group by webhook_seq),
  states as (
    select q.open, q.due, q.oldest, not w.is_deleted and w.disabled_at is null and not w.paused
      and (w.circuit_until is null or w.circuit_until <= @now) as is_ready
    from queues q join agent_messaging.webhooks w on w.seq = q.webhook_seq)
  select coalesce(sum(open), 0)::bigint as open,
    coalesce(sum(due) filter (where is_ready), 0)::bigint as due,
    coalesce(sum(due) filter (where not is_ready), 0)::bigint as held,
    min(oldest) filter (where is_ready and due > 0) as "oldestDueAt"
  from states`)
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
    min(s.due_at) filter (where m.state = 'queued' and a.state = 'running' and s.due_at <= @now)
      as "oldestDueAt"
  from agent_messaging.sessions s
    join agent_messaging.messages m on m.session_seq = s.seq and m.position = s.head_position
    join agent_messaging.agents a on a.id = s.agent_id
  where s.due_at is not null`)

/** `DeliveryStore.backlog`. Reads the indexes of open deliveries and of unhealthy webhooks. */
export async function deliveryBacklog(db: Queries, now: Instant): Promise<DeliveryBacklog> {
  // The aggregates always return one row.
  const { oldestDueAt, ...counts } = (await db.one(deliveriesSql, { now })) as Deliveries
  const webhooks = await db.one(webhooksSql, { now })
  return { ...counts, ...(oldestDueAt !== null && { oldestDueAt }), ...(webhooks as Webhooks) }
}

/** `MessageStore.backlog`. Reads the open sessions with their heads. */
export async function messageBacklog(db: Queries, now: Instant): Promise<MessageBacklog> {
  const { oldestDueAt, ...counts } = (await db.one(messagesSql, { now })) as Messages
  return { ...counts, ...(oldestDueAt !== null && { oldestDueAt }) }
}
