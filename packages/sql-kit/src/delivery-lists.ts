import type { DeliveryDetail, Page, WebhookDelivery } from '@org/agent-messaging-core'
import {
  DELIVERY_COLUMNS,
  selectList,
  toAttempt,
  toDelivery,
  toPage,
  WAITING,
  type AttemptRow,
  type DeliveryFilterStatus,
  type DeliveryRow,
  type LastFailure,
  type PageOf,
  type RedeliverFilter,
} from '@org/agent-messaging-core/storage'
import { atMost, type Dialect } from './dialect.js'
import { all, one, sql, type Operation, type Sql } from './operation.js'

/** The columns of a delivery `d` with its webhook `w` and its event `e`. */
export const deliveryList = ({ schema, deliveryState }: Dialect): string => `
  ${selectList(DELIVERY_COLUMNS, 'd')}, w.id as "webhookId", e.id as "eventId", e.name as event,
  ${deliveryState} as state,
  case when d.due_at = ${WAITING} then (
    select first.id from ${schema}deliveries first
    where first.order_key = d.order_key and first.due_at is not null and first.finished_at is null
    order by first.seq limit 1) end as "blockedBy"`
/** Append a `where`. */
export const fromDeliveries = ({ schema }: Dialect): string => `
  from ${schema}deliveries d join ${schema}events e on e.seq = d.event_seq
    join ${schema}webhooks w on w.seq = d.webhook_seq`

export type DeliveryRef = { readonly projectId: string; readonly deliveryId: string }
const byRef = sql<DeliveryRef, DeliveryRow>(
  (d) => `
    select ${deliveryList(d)} ${fromDeliveries(d)}
    where d.id = @deliveryId and d.project_id = @projectId`,
)
type DetailRow = DeliveryRow & { readonly body: string | null } & {
  readonly [C in keyof AttemptRow]: AttemptRow[C] | null
}
/**
 * The attempts and their delivery come from one snapshot, because one statement reads both. The
 * first row has the body.
 */
const detail = sql<DeliveryRef, DetailRow>(
  (d) => `
    select ${deliveryList(d)}, case when coalesce(t.attempt_number, 1) = 1
        then coalesce(d.body, e.body) end as body,
      t.attempt_number as "attemptNumber", t.started_at as "startedAt",
      t.duration_ms as "durationMs", t.url, t.outcome, n.names as "headerNames",
      t.header_values as "headerValues"
    ${fromDeliveries(d)} left join ${d.schema}attempts t on t.delivery_seq = d.seq
      left join ${d.schema}header_names n on n.seq = t.header_names_seq
    where d.id = @deliveryId and d.project_id = @projectId order by t.attempt_number`,
)
type Failures = { readonly projectId: string; readonly webhookIds: readonly string[] }
type FailureRow = Omit<LastFailure, 'outcome'> & Pick<AttemptRow, 'outcome'>
/**
 * Attempts that began in the same millisecond make more than one row of a webhook. The last delivery
 * counts.
 */
export const failuresOf = sql<Failures, FailureRow>(
  ({ schema, join, oneOf, not }) => `
    select w.id as "webhookId", d.id as "deliveryId", t.attempt_number as "attemptNumber",
      t.started_at as "startedAt", t.outcome
    from ${schema}webhooks w
      ${join} ${schema}attempts t on t.failed_webhook_seq = w.seq and t.started_at = (
        select max(started_at) from ${schema}attempts where failed_webhook_seq = w.seq)
      ${join} ${schema}deliveries d on d.seq = t.delivery_seq
    where ${oneOf('w.id', 'webhookIds')} and w.project_id = @projectId and ${not('w.is_deleted')}`,
)
/** Reads the index of open deliveries. */
export const openCounts = sql<
  Failures & { readonly most: number },
  { readonly id: string; readonly count: number }
>(
  ({ schema, oneOf, not }) => `
    select w.id, (
      select count(*) from (
        select 1 from ${schema}deliveries d
        where d.receiver_seq = coalesce(
          (select r.seq from ${schema}webhooks r where r.id = w.receiver), w.seq)
          and d.due_at is not null ${atMost('@most')}) as found) as count
    from ${schema}webhooks w
    where ${oneOf('w.id', 'webhookIds')} and w.project_id = @projectId and ${not('w.is_deleted')}`,
)
/** Reads the events first, in their order. */
const fromEvents = ({ schema, join }: Dialect): string =>
  `from ${schema}events e ${join} ${schema}deliveries d on d.event_seq = e.seq`

/** `lock` locks the deliveries and leaves out deleted webhooks. */
export type ListFilter = RedeliverFilter & { readonly lock?: true }
type PageStart = { readonly seq: number; readonly eventSeq: number; readonly id: string }
type Before = { readonly before: number; readonly beforeEvent: number }
type Bounds = Before & { readonly last: number; readonly lastEvent: number }

const EVERYWHERE: Before = {
  before: Number.MAX_SAFE_INTEGER,
  beforeEvent: Number.MAX_SAFE_INTEGER,
}
const NOWHERE: Before = { before: 0, beforeEvent: 0 }
/** A cursor whose row was deleted counts by its id, a UUIDv7. */
const startOf = sql<{ readonly cursor: string }, Before>(
  ({ schema }) => `
    select seq + case when id < @cursor then 1 else 0 end as before, event_seq as "beforeEvent"
    from ${schema}deliveries where id <= @cursor order by id desc limit 1`,
)

/**
 * A page reads this many deliveries at most, so that a rare match among millions does not block
 * other operations.
 */
const MOST_READ = 10_000

/**
 * `DeliveryStore.list`. A filter for a status other than `delivered` reads only the few undelivered
 * ones.
 */
export function* listDeliveries(
  filter: ListFilter,
  page: PageOf,
  mostRead: number = MOST_READ,
): Operation<Page<WebhookDelivery>> {
  const { cursor, limit } = page
  const start = cursor === undefined ? EVERYWHERE : ((yield* one(startOf, { cursor })) ?? NOWHERE)
  const last = yield* one(lastReadSql(filter), { ...filter, ...start, skipped: mostRead - 1 })
  const bounds = { ...start, last: last?.seq ?? 0, lastEvent: last?.eventSeq ?? 0 }
  const rows = yield* all(deliveryListSql(filter), { ...filter, ...bounds, rows: limit + 1 })
  const { data, nextCursor } = toPage(rows, limit, toDelivery)
  return { data, nextCursor: nextCursor ?? last?.id ?? null }
}

export function* findDelivery(ref: DeliveryRef): Operation<WebhookDelivery | undefined> {
  const row = yield* one(byRef, ref)
  return row && toDelivery(row)
}

/** `DeliveryStore.get`. */
export function* deliveryDetail(
  projectId: string,
  deliveryId: string,
): Operation<DeliveryDetail | undefined> {
  const rows = yield* all(detail, { projectId, deliveryId })
  const [row] = rows
  if (!row) return undefined
  const attempts = rows.filter(isAttempt).map(toAttempt)
  return { delivery: toDelivery(row), body: row.body ?? '', attempts }
}

/** `DeliveryStore.lastFailures`. */
export function* lastFailures(
  projectId: string,
  webhookIds: readonly string[],
): Operation<LastFailure[]> {
  const rows = yield* all(failuresOf, { projectId, webhookIds })
  const failures = rows
    .map((row) => ({ ...row, outcome: JSON.parse(row.outcome) as LastFailure['outcome'] }))
    .sort((a, b) => (a.deliveryId < b.deliveryId ? -1 : 1))
  return [...new Map(failures.map((failure) => [failure.webhookId, failure])).values()]
}

/** `DeliveryStore.countOpen`. */
export function* countOpen(
  projectId: string,
  webhookIds: readonly string[],
  most: number,
): Operation<ReadonlyMap<string, number>> {
  const rows = yield* all(openCounts, { projectId, webhookIds, most })
  return new Map(rows.map(({ id, count }) => [id, count]))
}

const isAttempt = (row: DetailRow): row is DetailRow & AttemptRow => row.attemptNumber !== null

/** Finds the last delivery that a page can read, if there are that many. */
export const lastReadSql =
  (filter: ListFilter): Sql<ListFilter & Before & { readonly skipped: number }, PageStart> =>
  (d) =>
    `
    select d.seq, d.event_seq as "eventSeq", d.id
    ${isByEvent(filter) ? fromEvents(d) : `from ${d.schema}deliveries d`}
    where ${readBy(filter, d)} and ${behindStart(filter)}
    ${newestFirst(filter)} limit 1 offset @skipped + 0`

export const deliveryListSql =
  (filter: ListFilter): Sql<ListFilter & Bounds & { readonly rows: number }, DeliveryRow> =>
  (d) => {
    const { webhookId, eventId, messageId, sessionId, event, status } = filter
    const { createdAfter, createdBefore, lastAnswer, withoutHooks, lock } = filter
    const conditions = [readBy(filter, d), behindStart(filter), upToLast(filter)]
    if (status !== undefined) conditions.push(`(${withStatus(status)})`)
    if (webhookId !== undefined) conditions.push(`${d.plain('d.webhook_seq')} = ${webhook(d)}`)
    if (eventId !== undefined) conditions.push('e.id = @eventId')
    if (messageId !== undefined) conditions.push('e.message_id = @messageId')
    if (sessionId !== undefined) conditions.push(`${d.plain('e.session_id')} = @sessionId`)
    if (event !== undefined) conditions.push('e.name = @event')
    if (lock) conditions.push(d.not('w.is_deleted'))
    if (withoutHooks) conditions.push('w.message_id is null')
    if (createdAfter !== undefined) conditions.push('d.created_at >= @createdAfter')
    if (createdBefore !== undefined) conditions.push('d.created_at < @createdBefore')
    if (lastAnswer !== undefined) conditions.push(`@lastAnswer = ${lastAnswerOf(d)}`)
    const from = isByEvent(filter)
      ? `${fromEvents(d)} join ${d.schema}webhooks w on w.seq = d.webhook_seq`
      : fromDeliveries(d)
    return `select ${deliveryList(d)} ${from} where ${conditions.join(' and ')}
      ${newestFirst(filter)} ${atMost('@rows')} ${lock ? d.lock('update of d') : ''}`
  }

/** `hasStatus` of core. */
function withStatus(status: DeliveryFilterStatus): string {
  const open = "d.state in ('pending', 'sending')"
  if (status === 'failed') return `d.state = 'exhausted' or ${open} and d.step > 0`
  return status === 'pending' ? open : 'd.state = @status'
}

/** The deliveries of an event, a message or a session are found by its events, and come in their order. */
const isByEvent = ({ deliveryId, eventId, messageId, sessionId }: ListFilter): boolean =>
  deliveryId === undefined && [eventId, messageId, sessionId].some((id) => id !== undefined)

const newestFirst = (filter: ListFilter): string =>
  isByEvent(filter) ? 'order by e.seq desc, d.seq desc' : 'order by d.seq desc'
const behindStart = (filter: ListFilter): string =>
  isByEvent(filter)
    ? 'e.seq <= @beforeEvent and (e.seq, d.seq) < (@beforeEvent, @before)'
    : 'd.seq < @before'
const upToLast = (filter: ListFilter): string =>
  isByEvent(filter) ? '(e.seq, d.seq) >= (@lastEvent, @last)' : 'd.seq >= @last'

const webhook = ({ schema }: Dialect): string =>
  `(select seq from ${schema}webhooks where id = @webhookId and project_id = @projectId)`
const lastAnswerOf = ({ schema, json }: Dialect): string => `(
  select coalesce((cast(${json('t.outcome', 'statusCode')} as integer) / 100) || 'xx', 'none')
  from ${schema}attempts t
  where t.delivery_seq = d.seq and t.attempt_number = d.attempt_count)`

/** Chooses the index with the fewest rows that gives the order. */
function readBy(
  { deliveryId, eventId, messageId, sessionId, status, webhookId }: ListFilter,
  d: Dialect,
): string {
  if (deliveryId !== undefined) return 'd.id = @deliveryId and d.project_id = @projectId'
  if (eventId !== undefined) return 'e.id = @eventId and e.project_id = @projectId'
  if (messageId !== undefined)
    return `${d.is('e.has_deliveries')} and e.message_id = @messageId
      and ${d.plain('e.project_id')} = @projectId`
  if (sessionId !== undefined)
    return `${d.is('e.has_deliveries')} and e.project_id = @projectId and e.session_id = @sessionId`
  if (status !== undefined && status !== 'delivered')
    return "d.project_id = @projectId and d.state <> 'delivered'"
  return webhookId === undefined ? 'd.project_id = @projectId' : `d.webhook_seq = ${webhook(d)}`
}
