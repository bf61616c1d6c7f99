import type { Page, PageOf, RedeliverFilter, WebhookDelivery } from '@org/agent-messaging-core'
import type { Queries } from './database.js'
import { selectDelivery, toDelivery, type DeliveryRow } from './delivery-row.js'
import { pageStart, toPage } from './page.js'
import { sql } from './sql.js'

/** What operators change: deliveries of webhooks that are still there, which nobody else changes before the commit. */
type ListFilter = RedeliverFilter & { readonly toBeChanged?: true }

const start = pageStart('deliveries')

/** `DeliveryStore.list`. Filters by status but for `delivered` read what is not delivered only, which is little among much. */
export async function listDeliveries(db: Queries, filter: ListFilter, page: PageOf): Promise<Page<WebhookDelivery>> {
  const statement = sql<ListFilter & { before: number; rows: number }, DeliveryRow>(deliveryListSql(filter))
  const rows = await db.all(statement, { ...filter, before: await start(db, page), rows: page.limit + 1 })
  return toPage(rows, page.limit, toDelivery)
}

export function deliveryListSql(filter: ListFilter): string {
  const { deliveryId, webhookId, event, status, createdAfter, createdBefore, lastAnswer, toBeChanged } = filter
  const conditions = ['d.project_id = @projectId and d.seq < @before']
  if (status !== undefined && status !== 'delivered') conditions.push("d.state <> 'delivered'")
  if (status !== undefined) conditions.push(status === 'pending' ? "d.state in ('pending', 'sending')" : 'd.state = @status')
  if (webhookId !== undefined) conditions.push('d.webhook_seq = (select seq from agent_messaging.webhooks where id = @webhookId)')
  if (event !== undefined) conditions.push('e.name = @event')
  if (toBeChanged) conditions.push('not w.is_deleted')
  if (deliveryId !== undefined) conditions.push('d.id = @deliveryId')
  if (createdAfter !== undefined) conditions.push('d.created_at >= @createdAfter')
  if (createdBefore !== undefined) conditions.push('d.created_at < @createdBefore')
  if (lastAnswer !== undefined) conditions.push(`@lastAnswer = ${LAST_ANSWER}`)
  const lock = toBeChanged ? ' for update of d' : ''
  return `${selectDelivery} where ${conditions.join(' and ')} order by d.seq desc limit @rows${lock}`
}

const LAST_ANSWER = `(select coalesce(((t.outcome::json ->> 'statusCode')::int / 100) || 'xx', 'none') from agent_messaging.attempts t
  where t.delivery_seq = d.seq and t.attempt_number = d.attempt_count)`
