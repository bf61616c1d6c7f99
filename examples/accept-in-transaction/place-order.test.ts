import { createMessaging, type Messaging } from '@org/agent-messaging-node'
import type pg from 'pg'
import { afterAll, beforeAll, expect, it } from 'vitest'
import {
  testPostgres,
  type TestPostgres,
} from '../../packages/adapter-postgres/test/test-postgres.js'
import { placeOrder } from './place-order.js'

let postgres: TestPostgres
let pool: pg.Pool
let messaging: Messaging
beforeAll(async () => {
  postgres = await testPostgres()
  pool = await postgres.pool()
  const agents = { clerk: ({ message }: { message: string }) => `Packed: ${message}` }
  messaging = await createMessaging({ pool, masterKey: new Uint8Array(32), agents })
  await pool.query('create table orders (id text primary key, customer text)')
})
afterAll(async () => {
  await messaging.stop({ graceMs: 0 })
  await pool.end()
  await postgres.close()
})

it('commits an order and its message together, or neither', async () => {
  const place = (id: string, customer: string, wish: string) =>
    placeOrder(pool, messaging, { id, customer, wish })
  const messageId = await place('o-1', 'ada', 'Two teapots')
  await expect(place('o-2', 'ada', '')).rejects.toThrow('message must be a non-empty string')
  await expect(place('o-1', 'bob', 'A third')).rejects.toThrow('duplicate key')
  expect((await pool.query('select id from orders')).rows).toEqual([{ id: 'o-1' }])
  const { data } = await messaging.messages.list({ agent: 'clerk' })
  expect(data).toMatchObject([{ messageId, sessionId: 'ada', message: 'Two teapots' }])
})
