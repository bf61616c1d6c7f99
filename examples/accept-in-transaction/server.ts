// A shop with its orders in PostgreSQL. The service uses the shop's pool.
import { setTimeout } from 'node:timers/promises'
import { createMessaging } from '@org/agent-messaging-node'
import express from 'express'
import pg from 'pg'
import { placeOrder } from './place-order.ts'

const pool = new pg.Pool({ connectionString: process.env['DATABASE_URL'] })
await pool.query('create table if not exists orders (id text primary key, customer text)')

const messaging = await createMessaging({
  pool,
  masterKey: process.env['MASTER_KEY'] ?? '', // 32 bytes: openssl rand -hex 32
  agents: {
    clerk: async ({ message }) => {
      await setTimeout(1_000)
      return `Packed: ${message}`
    },
  },
  policy: { runLeaseMs: 3_000 }, // then another process takes over the runs of a dead one
})

const app = express()
app.use(express.json())
app.post('/orders', async ({ body }, response) => {
  response.status(201).json({ messageId: await placeOrder(pool, messaging, body) })
})
app.get('/orders', async (_request, response) => {
  const { rows } = await pool.query('select id, customer from orders order by id')
  const { data } = await messaging.messages.list({ agent: 'clerk', order: 'asc' })
  response.json({ orders: rows, messages: data })
})

const port = Number(process.env['PORT'] ?? 3000)
const server = app.listen(port, '127.0.0.1', () => console.log(`http://127.0.0.1:${port}`))
for (const signal of ['SIGINT', 'SIGTERM'])
  process.once(signal, async () => {
    server.close() // accepts no more connections
    await messaging.stop() // lets runs end
    await pool.end()
    process.exit()
  })
