import {
  openDeliveries,
  WAITING,
  type DeliveryBacklog,
  type Instant,
  type MessageBacklog,
  type OpenQueue,
} from '@org/agent-messaging-core/storage'
import type { Database } from 'better-sqlite3'

/** A number is a boolean. */
type QueueRow = Omit<OpenQueue, 'isDisabled' | 'isPaused'> & {
  readonly isDisabled: 0 | 1
  readonly isPaused: 0 | 1
}
type Waiting = { readonly count: number; readonly oldestAt: Instant | null }
type Webhooks = Pick<DeliveryBacklog, 'disabledWebhooks' | 'openCircuits' | 'halfOpenCircuits'>
type Messages = Omit<MessageBacklog, 'oldestDueAt' | 'oldestAskedAt'> & {
  readonly oldestDueAt: Instant | null
  readonly oldestAskedAt: Instant | null
}

// Each statement aggregates, so it always returns one row.

/**
 * `DeliveryStore.backlog`. Reads the indexes of open and of waiting deliveries, and of unhealthy
 * webhooks.
 */
export function deliveryBacklog(
  db: Database,
): (now: Instant, limited?: ReadonlySet<string>) => DeliveryBacklog {
  const queues = db.prepare<{ now: Instant }, QueueRow>(`
    with queues as materialized (
      select webhook_seq, count(*) as open, sum(due_at <= @now) as due, min(due_at) as oldest from deliveries
      where due_at is not null group by webhook_seq)
    select w.id as webhookId, q.open, q.due, q.oldest as oldestAt, w.is_deleted = 1 or w.disabled_at is not null as isDisabled,
      w.paused as isPaused, w.circuit_until as circuitUntil
    from queues q cross join webhooks w on w.seq = q.webhook_seq`)
  const waiting = db.prepare<[], Waiting>(
    `select count(*) as count, min(created_at) as oldestAt from deliveries where due_at = ${WAITING}`,
  )
  const webhooks = db.prepare<{ now: Instant }, Webhooks>(`
    select count(disabled_at) as disabledWebhooks, coalesce(sum(circuit_until > @now), 0) as openCircuits,
      coalesce(sum(circuit_until <= @now), 0) as halfOpenCircuits
    from webhooks where is_deleted = 0 and (disabled_at is not null or circuit_until is not null)`)
  return (now, limited = new Set()) => {
    const rows = queues.all({ now }).map((row): OpenQueue => ({
      ...row,
      isDisabled: row.isDisabled === 1,
      isPaused: row.isPaused === 1,
    }))
    const { count, oldestAt } = waiting.get() as Waiting
    const held = { count, ...(oldestAt !== null && { oldestAt }) }
    return {
      ...openDeliveries(rows, now, limited, held),
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
      coalesce(sum(m.state = 'input_required'), 0) as inputRequired, min(iif(m.state = 'input_required', m.started_at, null)) as oldestAskedAt,
      min(iif(m.state = 'queued' and a.state = 'running' and s.due_at <= @now, s.due_at, null)) as oldestDueAt
    from sessions s cross join messages m on m.session_seq = s.seq and m.position = s.head_position cross join agents a on a.id = s.agent_id
    where s.due_at is not null`)
  return (now) => {
    const { oldestDueAt, oldestAskedAt, ...counts } = messages.get({ now }) as Messages
    return {
      ...counts,
      ...(oldestDueAt !== null && { oldestDueAt }),
      ...(oldestAskedAt !== null && { oldestAskedAt }),
    }
  }
}
