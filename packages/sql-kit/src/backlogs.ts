import type { Instant } from '@org/agent-messaging-core'
import {
  openDeliveries,
  WAITING,
  type DeliveryBacklog,
  type MessageBacklog,
  type OpenQueue,
} from '@org/agent-messaging-core/storage'
import { all, one, sql, type Operation } from './operation.js'

/** `projectId` is null for all projects. */
type Of = { readonly projectId: string | null }
type Now = Of & { readonly now: Instant }
/** A store can return a boolean as a number. */
type QueueRow = Omit<OpenQueue, 'isDisabled' | 'isPaused'> & {
  readonly isDisabled: boolean | number
  readonly isPaused: boolean | number
}
type Waiting = { readonly count: number; readonly oldestAt: Instant | null }
type Webhooks = Pick<DeliveryBacklog, 'disabledWebhooks' | 'openCircuits' | 'halfOpenCircuits'>
type Messages = Omit<MessageBacklog, 'oldestDueAt' | 'oldestAskedAt'> & {
  readonly oldestDueAt: Instant | null
  readonly oldestAskedAt: Instant | null
}

const ofProject = (column: string): string =>
  `(cast(@projectId as text) is null or ${column} = @projectId)`

const queues = sql<Now, QueueRow>(
  ({ schema, join }) => `
    with queues as materialized (
      select webhook_seq, count(*) as open, count(*) filter (where due_at <= @now) as due,
        min(due_at) as oldest
      from ${schema}deliveries where due_at is not null group by webhook_seq)
    select w.id as "webhookId", q.open, q.due, q.oldest as "oldestAt",
      (w.is_deleted or w.disabled_at is not null) as "isDisabled", w.paused as "isPaused",
      w.circuit_until as "circuitUntil"
    from queues q ${join} ${schema}webhooks w on w.seq = q.webhook_seq
    where ${ofProject('w.project_id')}`,
)
const waiting = sql<Of, Waiting>(
  ({ schema }) => `
    select count(*) as count, min(created_at) as "oldestAt"
    from ${schema}deliveries where due_at = ${WAITING} and ${ofProject('project_id')}`,
)
const webhooks = sql<Now, Webhooks>(
  ({ schema, not }) => `
    select count(disabled_at) as "disabledWebhooks",
      count(*) filter (where circuit_until > @now) as "openCircuits",
      count(*) filter (where circuit_until <= @now) as "halfOpenCircuits"
    from ${schema}webhooks
    where ${not('is_deleted')} and (disabled_at is not null or circuit_until is not null)
      and ${ofProject('project_id')}`,
)
/** All messages behind a head are queued. */
const messages = sql<Now, Messages>(
  ({ schema, join }) => `
    select count(*) filter (where m.state = 'queued')
        + cast(coalesce(sum(s.open_count - 1), 0) as bigint) as queued,
      count(*) filter (where m.state = 'running') as running,
      count(*) filter (where m.state = 'deferred') as deferred,
      count(*) filter (where m.state = 'input_required') as "inputRequired",
      min(m.started_at) filter (where m.state = 'input_required') as "oldestAskedAt",
      min(s.due_at) filter (where m.state = 'queued' and a.state = 'running' and s.due_at <= @now)
        as "oldestDueAt"
    from ${schema}sessions s
      ${join} ${schema}messages m on m.session_seq = s.seq and m.position = s.head_position
      ${join} ${schema}agents a on a.id = s.agent_id
    where s.due_at is not null and ${ofProject('a.project_id')}`,
)

/**
 * `DeliveryStore.backlog`. Reads the indexes of open and of waiting deliveries, and of unhealthy
 * webhooks.
 */
export function* deliveryBacklog(
  now: Instant,
  limited: ReadonlySet<string> = new Set(),
  projectId: string | null = null,
): Operation<DeliveryBacklog> {
  const rows = yield* all(queues, { now, projectId })
  // The aggregates always return one row.
  const { count, oldestAt } = (yield* one(waiting, { projectId })) as Waiting
  const ofWebhooks = (yield* one(webhooks, { now, projectId })) as Webhooks
  const open = rows.map((row) => ({
    ...row,
    isDisabled: Boolean(row.isDisabled),
    isPaused: Boolean(row.isPaused),
  }))
  const held = { count, ...(oldestAt !== null && { oldestAt }) }
  return { ...openDeliveries(open, now, limited, held), ...ofWebhooks }
}

/** `MessageStore.backlog`. Reads the open sessions with their heads. */
export function* messageBacklog(
  now: Instant,
  projectId: string | null = null,
): Operation<MessageBacklog> {
  const { oldestDueAt, oldestAskedAt, ...counts } = (yield* one(messages, {
    now,
    projectId,
  })) as Messages
  return {
    ...counts,
    ...(oldestDueAt !== null && { oldestDueAt }),
    ...(oldestAskedAt !== null && { oldestAskedAt }),
  }
}
