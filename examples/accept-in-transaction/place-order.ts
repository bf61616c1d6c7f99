import type { MessagingService } from '@org/agent-messaging-core'
import { inTransaction } from '@org/agent-messaging-adapter-postgres'
import type pg from 'pg'

type Order = { readonly id: string; readonly customer: string; readonly wish: string }

/** Commits the order and the message about it in one transaction. */
export async function placeOrder(
  pool: pg.Pool,
  service: MessagingService,
  projectId: string,
  order: Order,
): Promise<string> {
  const client = await pool.connect()
  try {
    await client.query('begin')
    await client.query('insert into orders (id, customer) values ($1, $2)', [
      order.id,
      order.customer,
    ])
    const accepted = await service.messages.enqueue({
      projectId,
      agent: 'clerk',
      sessionId: order.customer,
      message: order.wish,
      idempotencyKey: order.id,
      transaction: inTransaction(client),
    })
    await client.query('commit')
    return accepted.message.id
  } catch (error) {
    await client.query('rollback')
    throw error
  } finally {
    client.release()
  }
}
