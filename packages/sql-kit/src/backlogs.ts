import type { Instant } from '@org/agent-messaging-core'
import {
  openDeliveries,
  WAITING,
  type DeliveryBacklog,
  type MessageBacklog,
  type OpenQueue,
} from '@org/agent-messaging-core/storage'
import { all, sql, type Operation } from './operation.js'

/** `projectId` is null for all projects. */
type Of = { readonly projectId: string | null }
type Now = Of & { readonly now: Instant }
type OfProject = { readonly projectId: string }
/** A store can return a boolean as a number. */
type QueueRow = Omit<OpenQueue, 'isDisabled' | 'isPaused'> &
  OfProject & {
    readonly isDisabled: boolean | number
    readonly isPaused: boolean | number
  }
type Waiting = OfProject & { readonly count: number; readonly oldestAt: Instant }
type Webhooks = OfProject &
  Pick<DeliveryBacklog, 'disabledWebhooks' | 'openCircuits' | 'halfOpenCircuits'>
type Messages = OfProject &
  Omit<MessageBacklog, 'oldestDueAt' | 'oldestAskedAt'> & {
    readonly oldestDueAt: Instant | null
    readonly oldestAskedAt: Instant | null
  }

const ofProject = (column: string): string =>
  `(cast(@projectId as text) is null or ${column} = @projectId)`

const queues = sql<Now, QueueRow>(
  ({ schema, join }) => `
    with queues as materialized (
      select receiver_seq, count(*) as open, count(*) filter (where due_at <= @now) as due,
        min(due_at) as oldest
      from ${schema}deliveries where due_at is not null group by receiver_seq)
    select w.project_id as "projectId", w.id as "webhookId", q.open, q.due, q.oldest as "oldestAt",
      (w.is_deleted or w.disabled_at is not null) as "isDisabled", w.paused as "isPaused",
      w.circuit_until as "circuitUntil"
    from queues q ${join} ${schema}webhooks w on w.seq = q.receiver_seq
    where ${ofProject('w.project_id')}`,
)
const waiting = sql<Of, Waiting>(
  ({ schema }) => `
    select project_id as "projectId", count(*) as count, min(created_at) as "oldestAt"
    from ${schema}deliveries where due_at = ${WAITING} and ${ofProject('project_id')}
    group by project_id`,
)
const webhooks = sql<Now, Webhooks>(
  ({ schema, not }) => `
    select project_id as "projectId",
      case when disabled_at is null then 0 else 1 end as "disabledWebhooks",
      case when circuit_until > @now then 1 else 0 end as "openCircuits",
      case when circuit_until <= @now then 1 else 0 end as "halfOpenCircuits"
    from ${schema}webhooks
    where ${not('is_deleted')} and (disabled_at is not null or circuit_until is not null)
      and ${ofProject('project_id')}`,
)
/** A row of each agent. All messages behind a head are queued. */
const messages = sql<Now, Messages>(
  ({ schema, join }) => `
    select min(a.project_id) as "projectId", count(*) filter (where m.state = 'queued')
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
    where s.due_at is not null and ${ofProject('a.project_id')}
    group by s.agent_id`,
)

type Deliveries = {
  readonly queues: readonly QueueRow[]
  readonly waiting: readonly Waiting[]
  readonly webhooks: readonly Webhooks[]
}

/** Reads the indexes of open and of waiting deliveries, and of unhealthy webhooks. */
function* readDeliveries(now: Instant, projectId: string | null): Operation<Deliveries> {
  return {
    queues: yield* all(queues, { now, projectId }),
    waiting: yield* all(waiting, { projectId }),
    webhooks: yield* all(webhooks, { now, projectId }),
  }
}

const sumOf = <Name extends string>(
  rows: readonly { readonly [N in Name]: number }[],
  name: Name,
): number => rows.reduce((sum, row) => sum + row[name], 0)

function leastOf<Name extends string>(
  rows: readonly { readonly [N in Name]: Instant | null }[],
  name: Name,
): { readonly [N in Name]?: Instant } {
  const known = rows.flatMap((row) => row[name] ?? [])
  return known.length === 0
    ? {}
    : ({ [name]: Math.min(...known) } as { readonly [N in Name]?: Instant })
}

const sumOfDeliveries = (
  rows: Deliveries,
  now: Instant,
  limited: ReadonlySet<string>,
): DeliveryBacklog => ({
  ...openDeliveries(
    rows.queues.map((row) => ({
      ...row,
      isDisabled: Boolean(row.isDisabled),
      isPaused: Boolean(row.isPaused),
    })),
    now,
    limited,
    { count: sumOf(rows.waiting, 'count'), ...leastOf(rows.waiting, 'oldestAt') },
  ),
  disabledWebhooks: sumOf(rows.webhooks, 'disabledWebhooks'),
  openCircuits: sumOf(rows.webhooks, 'openCircuits'),
  halfOpenCircuits: sumOf(rows.webhooks, 'halfOpenCircuits'),
})

const sumOfMessages = (rows: readonly Messages[]): MessageBacklog => ({
  queued: sumOf(rows, 'queued'),
  running: sumOf(rows, 'running'),
  deferred: sumOf(rows, 'deferred'),
  inputRequired: sumOf(rows, 'inputRequired'),
  ...leastOf(rows, 'oldestDueAt'),
  ...leastOf(rows, 'oldestAskedAt'),
})

/** `DeliveryStore.backlog`. */
export function* deliveryBacklog(
  now: Instant,
  limited: ReadonlySet<string> = new Set(),
  projectId: string | null = null,
): Operation<DeliveryBacklog> {
  return sumOfDeliveries(yield* readDeliveries(now, projectId), now, limited)
}

/** `DeliveryStore.backlogs`. */
export function* deliveryBacklogs(
  now: Instant,
  limited: ReadonlySet<string> = new Set(),
): Operation<ReadonlyMap<string, DeliveryBacklog>> {
  const rows = yield* readDeliveries(now, null)
  const ids = new Set(Object.values(rows).flatMap((some) => some.map(({ projectId }) => projectId)))
  const [ofQueues, ofWaiting, ofWebhooks] = [
    Map.groupBy(rows.queues, ({ projectId }) => projectId),
    Map.groupBy(rows.waiting, ({ projectId }) => projectId),
    Map.groupBy(rows.webhooks, ({ projectId }) => projectId),
  ]
  return new Map(
    [...ids].map((id) => {
      const own = {
        queues: ofQueues.get(id) ?? [],
        waiting: ofWaiting.get(id) ?? [],
        webhooks: ofWebhooks.get(id) ?? [],
      }
      return [id, sumOfDeliveries(own, now, limited)]
    }),
  )
}

/** `MessageStore.backlog`. Reads the open sessions with their heads. */
export function* messageBacklog(
  now: Instant,
  projectId: string | null = null,
): Operation<MessageBacklog> {
  return sumOfMessages(yield* all(messages, { now, projectId }))
}

/** `MessageStore.backlogs`. */
export function* messageBacklogs(now: Instant): Operation<ReadonlyMap<string, MessageBacklog>> {
  const rows = yield* all(messages, { now, projectId: null })
  const ofProjects = Map.groupBy(rows, ({ projectId }) => projectId)
  return new Map([...ofProjects].map(([id, own]) => [id, sumOfMessages(own)]))
}
