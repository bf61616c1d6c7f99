import type { Database } from 'better-sqlite3'
import {
  DELIVERY_COLUMNS,
  selectList,
  toDelivery,
  toPage,
  WAITING,
  type DeliveryRow,
  type Page,
  type PageOf,
  type RedeliverFilter,
  type WebhookDelivery,
} from '@org/agent-messaging-core/storage'
import { firstOfOrderSql } from './delivery-order.js'
import { atMost, pageStart, preparedOnce } from './statements.js'

const columns = `
  ${selectList(DELIVERY_COLUMNS, 'd')}, w.id as webhookId, e.id as eventId, e.name as event,
  iif(d.is_claimed = 1 and d.due_at is not null, 'sending', d.state) as state,
  iif(d.due_at = ${WAITING}, (${firstOfOrderSql('d.order_key', 'id')}), null) as blockedBy`
const joined =
  'from deliveries d join events e on e.seq = d.event_seq join webhooks w on w.seq = d.webhook_seq'

/** Append a `where`. */
const selectDelivery = `select ${columns} ${joined}`
export const selectDeliveryWithBody = `select ${columns}, e.body, e.trace ${joined}`

type ListFilter = RedeliverFilter & { readonly ofExistingWebhook?: true }
type Place = { readonly seq: number; readonly id: string }

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
  const start = pageStart(db, 'deliveries')
  const rowsOf = preparedOnce<
    ListFilter & { before: number; last: number; rows: number },
    DeliveryRow
  >(db)
  const lastOf = preparedOnce<ListFilter & { before: number; mostRead: number }, Place>(db)
  return ({ ofExistingWebhook, ...filter }, page) => {
    const before = start(page)
    const last = lastOf(lastReadSql(filter)).get({ ...filter, before, mostRead })
    const sql = deliveryListSql({ ...filter, ...(ofExistingWebhook && { ofExistingWebhook }) })
    const rows = rowsOf(sql).all({ ...filter, before, last: last?.seq ?? 0, rows: page.limit + 1 })
    const { data, nextCursor } = toPage(rows, page.limit, toDelivery)
    return { data, nextCursor: nextCursor ?? last?.id ?? null }
  }
}

/** Finds the last delivery that a page can read, if there are that many. */
export const lastReadSql = (filter: ListFilter): string =>
  `select d.seq, d.id from deliveries d where ${readBy(filter)} and d.seq < @before order by d.seq desc limit 1 offset @mostRead - 1`

export function deliveryListSql(filter: ListFilter): string {
  const { webhookId, event, status, createdAfter, createdBefore, lastAnswer, ofExistingWebhook } =
    filter
  const conditions = [readBy(filter), 'd.seq < @before and d.seq >= @last']
  if (status !== undefined) conditions.push('d.state = @status')
  // The plus sign keeps the planner from the webhook's index.
  if (webhookId !== undefined) conditions.push(`+d.webhook_seq = ${WEBHOOK}`)
  if (event !== undefined) conditions.push('e.name = @event')
  if (ofExistingWebhook) conditions.push('w.is_deleted = 0')
  if (createdAfter !== undefined) conditions.push('d.created_at >= @createdAfter')
  if (createdBefore !== undefined) conditions.push('d.created_at < @createdBefore')
  if (lastAnswer !== undefined) conditions.push(`@lastAnswer = ${LAST_ANSWER}`)
  return `${selectDelivery} where ${conditions.join(' and ')} order by d.seq desc ${atMost('@rows')}`
}

const WEBHOOK = '(select seq from webhooks where id = @webhookId and project_id = @projectId)'

const LAST_ANSWER = `(select coalesce(((outcome ->> 'statusCode') / 100) || 'xx', 'none') from attempts
  where delivery_seq = d.seq and attempt_number = d.attempt_count)`

/** Chooses the index with the fewest rows that gives the order. */
function readBy({ deliveryId, status, webhookId }: ListFilter): string {
  if (deliveryId !== undefined) return 'd.id = @deliveryId and d.project_id = @projectId'
  if (status !== undefined && status !== 'delivered')
    return "d.project_id = @projectId and d.state <> 'delivered'"
  return webhookId === undefined ? 'd.project_id = @projectId' : `d.webhook_seq = ${WEBHOOK}`
}
