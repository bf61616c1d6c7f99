import type { Database } from 'better-sqlite3'
import {
  DELIVERY_COLUMNS,
  selectList,
  toDelivery,
  toPage,
  WAITING,
  type DeliveriesOfMessages,
  type DeliveryRow,
  type MessageDelivery,
  type Page,
  type PageOf,
  type RedeliverFilter,
  type WebhookDelivery,
} from '@org/agent-messaging-core/storage'
import { firstOfOrderSql } from './delivery-order.js'
import { atMost, preparedOnce } from './statements.js'

const columns = `
  ${selectList(DELIVERY_COLUMNS, 'd')}, w.id as webhookId, e.id as eventId, e.name as event,
  iif(d.is_claimed = 1 and d.due_at is not null, 'sending', d.state) as state,
  iif(d.due_at = ${WAITING}, (${firstOfOrderSql('d.order_key', 'id')}), null) as blockedBy`
const joined =
  'from deliveries d join events e on e.seq = d.event_seq join webhooks w on w.seq = d.webhook_seq'
/** Reads the events first, in their order. */
const joinedByEvent =
  'from events e cross join deliveries d on d.event_seq = e.seq join webhooks w on w.seq = d.webhook_seq'

/** Append a `where`. */
const selectDelivery = `select ${columns} ${joined}`
export const selectDeliveryWithBody = `select ${columns}, e.body, e.trace ${joined}`

type ListFilter = RedeliverFilter & { readonly ofExistingWebhook?: true }
type Place = { readonly seq: number; readonly eventSeq: number; readonly id: string }
type Before = { readonly before: number; readonly beforeEvent: number }
type Bounds = Before & { readonly last: number; readonly lastEvent: number }

const EVERYWHERE: Before = {
  before: Number.MAX_SAFE_INTEGER,
  beforeEvent: Number.MAX_SAFE_INTEGER,
}
const NOWHERE: Before = { before: 0, beforeEvent: 0 }

/**
 * A page reads this many deliveries at most, so that a rare match among millions does not block
 * other operations.
 */
const MOST_READ = 10_000

/**
 * `DeliveryStore.list`. A filter for a status other than `delivered` reads only the few undelivered
 * ones.
 */
export function deliveryList(
  db: Database,
  mostRead = MOST_READ,
): (filter: ListFilter, page: PageOf) => Page<WebhookDelivery> {
  // A cursor whose row was deleted counts by its id, a UUIDv7.
  const startOf = db.prepare<[string, string], Before>(
    'select seq + (id < ?) as before, event_seq as beforeEvent from deliveries where id <= ? order by id desc limit 1',
  )
  const rowsOf = preparedOnce<ListFilter & Bounds & { rows: number }, DeliveryRow>(db)
  const lastOf = preparedOnce<ListFilter & Before & { mostRead: number }, Place>(db)
  return ({ ofExistingWebhook, ...filter }, page) => {
    const { cursor } = page
    const start = cursor === undefined ? EVERYWHERE : (startOf.get(cursor, cursor) ?? NOWHERE)
    const last = lastOf(lastReadSql(filter)).get({ ...filter, ...start, mostRead })
    const bounds = { ...start, last: last?.seq ?? 0, lastEvent: last?.eventSeq ?? 0 }
    const sql = deliveryListSql({ ...filter, ...(ofExistingWebhook && { ofExistingWebhook }) })
    const rows = rowsOf(sql).all({ ...filter, ...bounds, rows: page.limit + 1 })
    const { data, nextCursor } = toPage(rows, page.limit, toDelivery)
    return { data, nextCursor: nextCursor ?? last?.id ?? null }
  }
}

/** `DeliveryStore.ofMessages`. */
export const deliveriesOfMessages = (
  list: ReturnType<typeof deliveryList>,
  { projectId, messageIds, limit }: DeliveriesOfMessages,
): MessageDelivery[] =>
  messageIds.flatMap((messageId) =>
    list({ projectId, messageId }, { limit }).data.map((delivery) => ({ messageId, delivery })),
  )

/** Finds the last delivery that a page can read, if there are that many. */
export const lastReadSql = (filter: ListFilter): string => `
  select d.seq, d.event_seq as eventSeq, d.id
  ${isByEvent(filter) ? 'from events e cross join deliveries d on d.event_seq = e.seq' : 'from deliveries d'}
  where ${readBy(filter)} and ${behindStart(filter)} ${newestFirst(filter)} limit 1 offset @mostRead - 1`

export function deliveryListSql(filter: ListFilter): string {
  const { webhookId, messageId, sessionId, event, status } = filter
  const { createdAfter, createdBefore, lastAnswer, ofExistingWebhook } = filter
  const conditions = [readBy(filter), behindStart(filter), upToLast(filter)]
  if (status !== undefined) conditions.push('d.state = @status')
  // The plus sign keeps the planner from the webhook's index.
  if (webhookId !== undefined) conditions.push(`+d.webhook_seq = ${WEBHOOK}`)
  if (messageId !== undefined) conditions.push('e.message_id = @messageId')
  // The plus sign keeps the planner from the session's index if there is a better one.
  if (sessionId !== undefined)
    conditions.push(`${messageId === undefined ? '' : '+'}e.session_id = @sessionId`)
  if (event !== undefined) conditions.push('e.name = @event')
  if (ofExistingWebhook) conditions.push('w.is_deleted = 0')
  if (createdAfter !== undefined) conditions.push('d.created_at >= @createdAfter')
  if (createdBefore !== undefined) conditions.push('d.created_at < @createdBefore')
  if (lastAnswer !== undefined) conditions.push(`@lastAnswer = ${LAST_ANSWER}`)
  const select = isByEvent(filter) ? `select ${columns} ${joinedByEvent}` : selectDelivery
  return `${select} where ${conditions.join(' and ')} ${newestFirst(filter)} ${atMost('@rows')}`
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

const WEBHOOK = '(select seq from webhooks where id = @webhookId and project_id = @projectId)'

const LAST_ANSWER = `(select coalesce(((outcome ->> 'statusCode') / 100) || 'xx', 'none') from attempts
  where delivery_seq = d.seq and attempt_number = d.attempt_count)`

/** Chooses the index with the fewest rows that gives the order. */
function readBy({ deliveryId, messageId, sessionId, status, webhookId }: ListFilter): string {
  if (deliveryId !== undefined) return 'd.id = @deliveryId and d.project_id = @projectId'
  if (messageId !== undefined)
    return 'e.has_deliveries = 1 and e.message_id = @messageId and +e.project_id = @projectId'
  if (sessionId !== undefined)
    return 'e.has_deliveries = 1 and e.project_id = @projectId and e.session_id = @sessionId'
  if (status !== undefined && status !== 'delivered')
    return "d.project_id = @projectId and d.state <> 'delivered'"
  return webhookId === undefined ? 'd.project_id = @projectId' : `d.webhook_seq = ${WEBHOOK}`
}
