import type { RedeliverFilter } from '@org/agent-messaging-core/storage'
import {
  anAgent,
  anEvent,
  aProject,
  aWebhook,
  fakeIds,
  PROJECT_ID,
  unwrap,
} from '@org/agent-messaging-testing'
import { listDeliveries } from '@org/agent-messaging-sql-kit'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { testPostgres, type TestPostgres } from '../../test/test-postgres.js'
import { createGateway, type Gateway } from '../database/gateway.js'
import { fanOut } from '../events/fan-out.js'
import { openPostgresStorage } from '../index.js'
import { perform } from '../database/operations.js'

const LOOK_AT = 10
const [ids, agent] = [fakeIds(), anAgent()]
const webhook = aWebhook({ id: ids.next() })
const made: string[] = []

let postgres: TestPostgres
let gateway: Gateway
/** 35 deliveries of one webhook. The 3rd, the 4th and the 30th have the event `agent.error`. */
beforeAll(async () => {
  postgres = await testPostgres()
  const pool = await postgres.pool()
  gateway = createGateway(pool, true)
  const storage = await openPostgresStorage({ pool })
  unwrap(await storage.credentials.createProject(aProject()))
  unwrap(await storage.webhooks.create(webhook, 1))
  const nextDeliveryId = () => made[made.push(ids.next()) - 1] as string
  for (let n = 1; n <= 35; n++) {
    const event = anEvent(agent, {
      id: ids.next(),
      name: [3, 4, 30].includes(n) ? 'agent.error' : 'agent.started',
    })
    unwrap(await gateway.write((db) => fanOut(db, { events: [event], nextDeliveryId })))
  }
})
afterAll(async () => {
  await gateway.close()
  await postgres.close()
})

const list = async (filter: RedeliverFilter, cursor?: string | null) =>
  unwrap(
    await gateway.read((db) =>
      perform(db, listDeliveries, filter, { limit: 2, ...(cursor && { cursor }) }, LOOK_AT),
    ),
  )

it.each<Partial<RedeliverFilter>>([
  {},
  { status: 'pending' },
  { webhookId: webhook.id },
  { webhookId: webhook.id, status: 'pending' },
])(
  'a page looks at a bounded number of deliveries, and the next page continues (%j)',
  async (where) => {
    const pages: string[][] = []
    let cursor: string | null | undefined
    while (cursor !== null) {
      const page = await list({ projectId: PROJECT_ID, event: 'agent.error', ...where }, cursor)
      pages.push(page.data.map(({ id }) => id))
      cursor = page.nextCursor
    }
    expect(pages).toEqual([[made[29]], [], [], [made[3], made[2]]])
  },
)

it('a single delivery is found although many newer ones exist', async () => {
  const deliveryId = made[0] ?? ''
  expect(await list({ projectId: PROJECT_ID, deliveryId })).toMatchObject({
    data: [{ id: deliveryId }],
    nextCursor: null,
  })
  expect((await list({ projectId: 'another', deliveryId })).data).toEqual([])
})
