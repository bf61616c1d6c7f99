import type { Messaging } from '@org/agent-messaging-node'
import type pg from 'pg'

export type Order = { readonly id: string; readonly customer: string; readonly wish: string }

/** Commits the order and the message about it in one transaction. Returns the id of the message. */
export async function placeOrder(
  pool: pg.Pool,
  messaging: Messaging,
  { id, customer, wish }: Order,
): Promise<string> {
  const client = await pool.connect()
  try {
    await client.query('begin')
    await client.query('insert into orders (id, customer) values ($1, $2)', [id, customer])
    const { messageId } = await messaging.messages.enqueue({
      agent: 'clerk',
      sessionId: customer,
      message: wish,
      idempotencyKey: id,
      transaction: client,
    })
    await client.query('commit')
    return messageId
  } catch (error) {
    await client.query('rollback')
    throw error
  } finally {
    client.release()
  }
}
