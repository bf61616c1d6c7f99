import {
  DELIVERY_COLUMNS,
  selectList,
  toDelivery,
  toPage,
  WAITING,
  type DeliveriesOfMessages,
  type DeliveryRow,
  type Page,
  type PageOf,
  type RedeliverFilter,
  type WebhookDelivery,
} from '@org/agent-messaging-core/storage'
import type { Queries } from './database.js'
import { firstOfOrder } from './delivery-order.js'
import { sql, type Sql } from './sql.js'

/** The columns of a delivery `d` with its webhook `w` and its event `e`. */
export const deliveryList = `
  ${selectList(DELIVERY_COLUMNS, 'd')}, w.id as "webhookId", e.id as "eventId", e.name as event, d.state,
  case when d.due_at = ${WAITING} then ${firstOfOrder('id')} end as "blockedBy"`
/** Append a `where`. */
export const fromDeliveries = `
  from agent_messaging.deliveries d
    join agent_messaging.events e on e.seq = d.event_seq
    join agent_messaging.webhooks w on w.seq = d.webhook_seq`

type Place = { readonly seq: number; readonly eventSeq: number; readonly id: string }
type Before = { readonly before: number; readonly beforeEvent: number }
type Bounds = Before & { readonly last: number; readonly lastEvent: number }

const EVERYWHERE: Before = {
  before: Number.MAX_SAFE_INTEGER,
  beforeEvent: Number.MAX_SAFE_INTEGER,
}
const NOWHERE: Before = { before: 0, beforeEvent: 0 }
/** A cursor whose row was deleted counts by its id, a UUIDv7. */
const startSql = sql<{ readonly cursor: string }, Before>(`
  select seq + (id < @cursor)::int as before, event_seq as "beforeEvent"
  from agent_messaging.deliveries where id <= @cursor order by id desc limit 1`)

/** Deliveries that one page looks at. A search among millions takes several pages. */
const MAX_LOOKED_AT = 10_000

/** `lock` locks the deliveries and leaves out deleted webhooks. */
type ListFilter = RedeliverFilter & { readonly lock?: true }

/** `DeliveryStore.list`. A status other than `delivered` reads the few undelivered ones only. */
export async function listDeliveries(
  db: Queries,
  filter: ListFilter,
  page: PageOf,
  lookAt = MAX_LOOKED_AT,
): Promise<Page<WebhookDelivery>> {
  const { cursor, limit } = page
  const start =
    cursor === undefined ? EVERYWHERE : ((await db.one(startSql, { cursor })) ?? NOWHERE)
  const last = await db.one(lastLookedAtSql(filter), { ...filter, ...start, skipped: lookAt - 1 })
  const bounds = { ...start, last: last?.seq ?? 0, lastEvent: last?.eventSeq ?? 0 }
  const asked = { ...filter, ...bounds, rows: limit + 1 }
  const { data, nextCursor } = toPage(
    await db.all(deliveryListSql(filter), asked),
    limit,
    toDelivery,
  )
  return { data, nextCursor: nextCursor ?? last?.id ?? null }
}

/** Finds the last delivery that the page can look at, if there are that many. */
const lastLookedAtSql = (
  filter: ListFilter,
): Sql<ListFilter & Before & { skipped: number }, Place> =>
  sql(`
    select d.seq, d.event_seq as "eventSeq", d.id from agent_messaging.deliveries d
      ${isByEvent(filter) ? 'join agent_messaging.events e on e.seq = d.event_seq' : ''}
    where ${indexCondition(filter)} and ${behindStart(filter)}
    ${newestFirst(filter)} limit 1 offset @skipped`)

export function deliveryListSql(
  filter: ListFilter,
): Sql<ListFilter & Bounds & { rows: number }, DeliveryRow> {
  const { webhookId, messageId, sessionId, event, status } = filter
  const { createdAfter, createdBefore, lastAnswer, lock } = filter
  const conditions = [indexCondition(filter), behindStart(filter), upToLast(filter)]
  if (status !== undefined)
    conditions.push(
      status === 'pending' ? "d.state in ('pending', 'sending')" : 'd.state = @status',
    )
  if (webhookId !== undefined) conditions.push(`d.webhook_seq = ${WEBHOOK}`)
  if (messageId !== undefined) conditions.push('e.message_id = @messageId')
  if (sessionId !== undefined) conditions.push('e.session_id = @sessionId')
  if (event !== undefined) conditions.push('e.name = @event')
  if (lock) conditions.push('not w.is_deleted')
  if (createdAfter !== undefined) conditions.push('d.created_at >= @createdAfter')
  if (createdBefore !== undefined) conditions.push('d.created_at < @createdBefore')
  if (lastAnswer !== undefined) conditions.push(`@lastAnswer = ${LAST_ANSWER}`)
  return sql(`
    select ${deliveryList} ${fromDeliveries} where ${conditions.join(' and ')}
    ${newestFirst(filter)} limit @rows ${lock ? 'for update of d' : ''}`)
}

/** The deliveries of a message or a session are found by its events, and come in their order. */
const isByEvent = ({ deliveryId, messageId, sessionId }: ListFilter): boolean =>
  deliveryId === undefined && (messageId !== undefined || sessionId !== undefined)

const newestFirst = (filter: ListFilter): string =>
  isByEvent(filter) ? 'order by e.seq desc, d.seq desc' : 'order by d.seq desc'
const behindStart = (filter: ListFilter): string =>
  isByEvent(filter)
    ? 'e.seq <= @beforeEvent and (e.seq, d.seq) < (@beforeEvent, @before)'
    : 'd.seq < @before'
const upToLast = (filter: ListFilter): string =>
  isByEvent(filter) ? '(e.seq, d.seq) >= (@lastEvent, @last)' : 'd.seq >= @last'

/** `DeliveryStore.ofMessages`. */
export const ofMessagesSql = sql<
  DeliveriesOfMessages,
  DeliveryRow & { readonly messageId: string }
>(
  `select found.*, given.message_id as "messageId"
  from unnest(@messageIds::text[]) with ordinality as given (message_id, place)
    cross join lateral (
      select ${deliveryList} ${fromDeliveries}
      where e.has_deliveries and e.message_id = given.message_id and e.project_id = @projectId
      order by e.seq desc, d.seq desc limit @limit) found
  order by given.place`,
)

const WEBHOOK =
  '(select seq from agent_messaging.webhooks where id = @webhookId and project_id = @projectId)'

/** The condition of the index with the fewest rows that gives the order. */
function indexCondition({
  deliveryId,
  messageId,
  sessionId,
  status,
  webhookId,
}: ListFilter): string {
  if (deliveryId !== undefined) return 'd.id = @deliveryId and d.project_id = @projectId'
  if (messageId !== undefined)
    return 'e.has_deliveries and e.message_id = @messageId and e.project_id = @projectId'
  if (sessionId !== undefined)
    return 'e.has_deliveries and e.project_id = @projectId and e.session_id = @sessionId'
  if (status !== undefined && status !== 'delivered')
    return "d.project_id = @projectId and d.state <> 'delivered'"
  return webhookId === undefined
    ? 'd.project_id = @projectId'
    : `d.webhook_seq = ${WEBHOOK} and d.project_id = @projectId`
}

const LAST_ANSWER = `(
  select coalesce(((t.outcome::json ->> 'statusCode')::int / 100) || 'xx', 'none')
  from agent_messaging.attempts t
  where t.delivery_seq = d.seq and t.attempt_number = d.attempt_count)`
