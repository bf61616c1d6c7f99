import type { DeliveryBacklog, Instant, MessageBacklog } from '@org/agent-messaging-core/storage'
import type { Database } from 'better-sqlite3'

type Deliveries = {
  readonly open: number
  readonly due: number
  readonly held: number
  readonly oldestDueAt: Instant | null
}
type Webhooks = Pick<DeliveryBacklog, 'disabledWebhooks' | 'openCircuits' | 'halfOpenCircuits'>
type Messages = Omit<MessageBacklog, 'oldestDueAt'> & { readonly oldestDueAt: Instant | null }

// Each statement aggregates, so it always returns one row.

/** `DeliveryStore.backlog`. Reads the indexes of open deliveries and of unhealthy webhooks. */
export function deliveryBacklog(db: Database): (now: Instant) => DeliveryBacklog {
  const deliveries = db.prepare<{ now: Instant }, Deliveries>(`
    with queues as materialized (
      select webhook_seq, count(*) as open, sum(due_at <= @now) as due, min(due_at) as oldest from deliveries
      where due_at is not null group by webhook_seq),
    states as (
      select q.open, q.due, q.oldest,
        w.is_deleted = 0 and w.disabled_at is null and w.paused = 0 and (w.circuit_until is null or w.circuit_until <= @now) as is_ready
      from queues q cross join webhooks w on w.seq = q.webhook_seq)
    select coalesce(sum(open), 0) as open, coalesce(sum(iif(is_ready, due, 0)), 0) as due,
      coalesce(sum(iif(is_ready, 0, due)), 0) as held, min(iif(is_ready and due > 0, oldest, null)) as oldestDueAt
    from states`)
  const webhooks = db.prepare<{ now: Instant }, Webhooks>(`
    select count(disabled_at) as disabledWebhooks, coalesce(sum(circuit_until > @now), 0) as openCircuits,
      coalesce(sum(circuit_until <= @now), 0) as halfOpenCircuits
    from webhooks where is_deleted = 0 and (disabled_at is not null or circuit_until is not null)`)
  return (now) => {
    const { oldestDueAt, ...counts } = deliveries.get({ now }) as Deliveries
    return {
      ...counts,
      ...(oldestDueAt !== null && { oldestDueAt }),
      ...(webhooks.get({ now }) as Webhooks),
    }
  }
}

/**
 * `MessageStore.backlog`. Reads the open sessions with their heads. All open messages behind a head
 * are queued.
 */
export function messageBacklog(db: Database): (now: Instant) => MessageBacklog {
  const messages = db.prepare<{ now: Instant }, Messages>(`
    select coalesce(sum(s.last_position - s.head_position + (m.state = 'queued')), 0) as queued,
      coalesce(sum(m.state = 'running'), 0) as running, coalesce(sum(m.state = 'deferred'), 0) as deferred,
      min(iif(m.state = 'queued' and a.state = 'running' and s.due_at <= @now, s.due_at, null)) as oldestDueAt
    from sessions s cross join messages m on m.session_seq = s.seq and m.position = s.head_position cross join agents a on a.id = s.agent_id
    where s.due_at is not null`)
  return (now) => {
    const { oldestDueAt, ...counts } = messages.get({ now }) as Messages
    return { ...counts, ...(oldestDueAt !== null && { oldestDueAt }) }
  }
}
