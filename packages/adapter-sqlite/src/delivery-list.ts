import type { Database } from 'better-sqlite3'
import type { DeliveryFilter, Page, PageOf, WebhookDelivery } from '@org/agent-messaging-core'
import { selectDelivery, toDelivery, type DeliveryRow } from './delivery-row.js'
import { pageStart, toPage } from './page.js'
import { preparedOnce } from './statements.js'

/** `DeliveryStore.list`. Filters by status but for `delivered` read what is not delivered only, which is little among much. */
export function deliveryList(db: Database): (filter: DeliveryFilter, page: PageOf) => Page<WebhookDelivery> {
  const start = pageStart(db, 'deliveries')
  const prepared = preparedOnce<DeliveryFilter & { before: number; rows: number }, DeliveryRow>(db)
  return (filter, page) => {
    const rows = prepared(deliveryListSql(filter)).all({ ...filter, before: start(page), rows: page.limit + 1 })
    return toPage(rows, page.limit, toDelivery)
  }
}

/** Of two indexes it takes that of what is not delivered before the webhook's: the plus sign keeps the planner from the other. */
export function deliveryListSql({ webhookId, event, status }: DeliveryFilter): string {
  const undelivered = status !== undefined && status !== 'delivered'
  const conditions = ['d.project_id = @projectId and d.seq < @before']
  if (undelivered) conditions.push("d.state <> 'delivered'")
  if (status !== undefined) conditions.push(status === 'pending' ? "d.state in ('pending', 'sending')" : 'd.state = @status')
  if (webhookId !== undefined) conditions.push(`${undelivered ? '+' : ''}d.webhook_seq = (select seq from webhooks where id = @webhookId)`)
  if (event !== undefined) conditions.push('e.name = @event')
  return `${selectDelivery} where ${conditions.join(' and ')} order by d.seq desc limit @rows`
}
