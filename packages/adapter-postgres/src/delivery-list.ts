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
import type { Queries } from './database.js'
import { firstOfOrder } from './delivery-order.js'
import { pageStart } from './page.js'
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

type Place = { readonly seq: number; readonly id: string }

/** Deliveries that one page looks at. A search among millions takes several pages. */
const MAX_LOOKED_AT = 10_000

/** `lock` locks the deliveries and leaves out deleted webhooks. */
type ListFilter = RedeliverFilter & { readonly lock?: true }

const start = pageStart('deliveries')

/** `DeliveryStore.list`. A status other than `delivered` reads the few undelivered ones only. */
export async function listDeliveries(
  db: Queries,
  filter: ListFilter,
  page: PageOf,
  lookAt = MAX_LOOKED_AT,
): Promise<Page<WebhookDelivery>> {
  const before = await start(db, page)
  const last = await db.one(lastLookedAtSql(filter), { ...filter, before, skipped: lookAt - 1 })
  const asked = { ...filter, before, last: last?.seq ?? 0, rows: page.limit + 1 }
  const { data, nextCursor } = toPage(
    await db.all(deliveryListSql(filter), asked),
    page.limit,
    toDelivery,
  )
  return { data, nextCursor: nextCursor ?? last?.id ?? null }
}

/** Finds the last delivery that the page can look at, if there are that many. */
const lastLookedAtSql = (
  filter: ListFilter,
): Sql<ListFilter & { before: number; skipped: number }, Place> =>
  sql(`
    select d.seq, d.id from agent_messaging.deliveries d
    where ${indexCondition(filter)} and d.seq < @before
    order by d.seq desc limit 1 offset @skipped`)

export function deliveryListSql(
  filter: ListFilter,
): Sql<ListFilter & { before: number; last: number; rows: number }, DeliveryRow> {
  const { webhookId, event, status, createdAfter, createdBefore, lastAnswer, lock } = filter
  const conditions = [indexCondition(filter), 'd.seq < @before and d.seq >= @last']
  if (status !== undefined)
    conditions.push(
      status === 'pending' ? "d.state in ('pending', 'sending')" : 'd.state = @status',
    )
  if (webhookId !== undefined) conditions.push(`d.webhook_seq = ${WEBHOOK}`)
  if (event !== undefined) conditions.push('e.name = @event')
  if (lock) conditions.push('not w.is_deleted')
  if (createdAfter !== undefined) conditions.push('d.created_at >= @createdAfter')
  if (createdBefore !== undefined) conditions.push('d.created_at < @createdBefore')
  if (lastAnswer !== undefined) conditions.push(`@lastAnswer = ${LAST_ANSWER}`)
  return sql(`
    select ${deliveryList} ${fromDeliveries} where ${conditions.join(' and ')}
    order by d.seq desc limit @rows ${lock ? 'for update of d' : ''}`)
}

const WEBHOOK =
  '(select seq from agent_messaging.webhooks where id = @webhookId and project_id = @projectId)'

/** The condition of the index with the fewest rows that gives the order. */
function indexCondition({ deliveryId, status, webhookId }: ListFilter): string {
  if (deliveryId !== undefined) return 'd.id = @deliveryId and d.project_id = @projectId'
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
