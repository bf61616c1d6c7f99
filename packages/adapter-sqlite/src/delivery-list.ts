import type { Database } from 'better-sqlite3'
import type { Page, PageOf, RedeliverFilter, WebhookDelivery } from '@org/agent-messaging-core'
import { selectDelivery, toDelivery, type DeliveryRow } from './delivery-row.js'
import { pageStart, toPage } from './page.js'
import { preparedOnce } from './statements.js'

type ListFilter = RedeliverFilter & { readonly isOfLivingWebhook?: true }

/** `DeliveryStore.list`. Filters by status but for `delivered` read what is not delivered only, which is little among much. */
export function deliveryList(db: Database): (filter: ListFilter, page: PageOf) => Page<WebhookDelivery> {
  const start = pageStart(db, 'deliveries')
  const prepared = preparedOnce<ListFilter & { before: number; rows: number }, DeliveryRow>(db)
  return ({ isOfLivingWebhook, ...filter }, page) => {
    const rows = prepared(deliveryListSql({ ...filter, ...(isOfLivingWebhook && { isOfLivingWebhook }) })).all({
      ...filter,
      before: start(page),
      rows: page.limit + 1,
    })
    return toPage(rows, page.limit, toDelivery)
  }
}

/** Of two indexes it takes that of what is not delivered before the webhook's: the plus sign keeps the planner from the other. */
export function deliveryListSql(filter: ListFilter): string {
  const { deliveryId, webhookId, event, status, createdAfter, createdBefore, isOfLivingWebhook } = filter
  const undelivered = status !== undefined && status !== 'delivered'
  const conditions = ['d.project_id = @projectId and d.seq < @before']
  if (undelivered) conditions.push("d.state <> 'delivered'")
  if (status !== undefined) conditions.push(status === 'pending' ? "d.state in ('pending', 'sending')" : 'd.state = @status')
  if (webhookId !== undefined) conditions.push(`${undelivered ? '+' : ''}d.webhook_seq = (select seq from webhooks where id = @webhookId)`)
  if (event !== undefined) conditions.push('e.name = @event')
  if (isOfLivingWebhook) conditions.push('w.is_deleted = 0')
  if (deliveryId !== undefined) conditions.push('d.id = @deliveryId')
  if (createdAfter !== undefined) conditions.push('d.created_at >= @createdAfter')
  if (createdBefore !== undefined) conditions.push('d.created_at < @createdBefore')
  return `${selectDelivery} where ${conditions.join(' and ')} order by d.seq desc limit @rows`
}
