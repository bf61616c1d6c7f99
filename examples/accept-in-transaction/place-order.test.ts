import { createService, type MessagingService } from '@org/agent-messaging-core'
import { fakePlatform } from '@org/agent-messaging-testing'
import { openPostgresStorage } from '@org/agent-messaging-adapter-postgres'
import pg from 'pg'
import { afterAll, beforeAll, expect, it } from 'vitest'
import {
  testPostgres,
  type TestPostgres,
} from '../../packages/adapter-postgres/test/test-postgres.js'
import { placeOrder } from './place-order.js'

let postgres: TestPostgres
let pool: pg.Pool
let service: MessagingService
let projectId: string
beforeAll(async () => {
  postgres = await testPostgres()
  pool = new pg.Pool({ connectionString: await postgres.database() })
  service = createService({ ...fakePlatform(), storage: await openPostgresStorage({ pool }) })
  await service.start()
  projectId = (await service.projects.create({ name: 'shop' })).id
  await service.agents.create({
    projectId,
    name: 'clerk',
    runtime: { kind: 'fake' },
  })
  await pool.query('create table orders (id text primary key, customer text)')
})
afterAll(async () => {
  await service.stop({ graceMs: 0 })
  await pool.end()
  await postgres.close()
})

const orders = async () => (await pool.query('select id from orders')).rows
const messages = async () =>
  (await service.messages.list({ projectId, agent: 'clerk', limit: 10 })).data

it('commits an order and its message together, or neither', async () => {
  const id = await placeOrder(pool, service, projectId, {
    id: 'o-1',
    customer: 'ada',
    wish: 'Two teapots',
  })
  expect(await messages()).toMatchObject([{ id, message: 'Two teapots' }])
  await expect(
    placeOrder(pool, service, projectId, { id: 'o-2', customer: 'ada', wish: '' }),
  ).rejects.toThrow('message must be a non-empty string')
  await expect(
    placeOrder(pool, service, projectId, { id: 'o-1', customer: 'bob', wish: 'A third' }),
  ).rejects.toThrow('duplicate key')
  expect(await orders()).toEqual([{ id: 'o-1' }])
  expect(await messages()).toHaveLength(1)
})
