import { anEvent, aWebhook, BUILT_AT as NOW, fakeIds } from '@org/agent-messaging-testing'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { done, storeScene } from '../../test/store-scene.js'
import { testPostgres, type TestPostgres } from '../../test/test-postgres.js'

// Statistics of a table with one row lead to plans that run an inner query once per row of the
// table.

let postgres: TestPostgres
beforeAll(async () => {
  postgres = await testPostgres()
})
afterAll(() => postgres.close())

/** One delivery is in the statistics, nine more are not. */
async function scene() {
  const { pool, storage, agent } = await storeScene(postgres)
  const [ids, webhook] = [fakeIds(), aWebhook()]
  await done(storage.webhooks.create(webhook, 1))
  for (let n = 0; n < 10; n++) {
    const event = anEvent(agent, { id: ids.next() })
    await done(storage.deliveries.publishTo(webhook.id, event, ids.next()))
    if (n === 0) await pool.query('analyze')
  }
  return { storage, webhook }
}

it("cancelStale cancels at most `limit` of a disabled webhook's deliveries", async () => {
  const { storage, webhook } = await scene()
  const status = { kind: 'disabled', reason: 'operator', at: NOW } as const
  await done(storage.webhooks.update(webhook.projectId, webhook.id, { status, updatedAt: NOW }))
  const query = { now: NOW + 1, dueBefore: NOW + 1, keep: 0, limit: 3 }
  expect(await done(storage.deliveries.cancelStale(query))).toBe(3)
})

it("cancelOrphans cancels at most `limit` of a deleted webhook's deliveries", async () => {
  const { storage, webhook } = await scene()
  await done(storage.webhooks.delete(webhook.projectId, webhook.id))
  expect(await done(storage.deliveries.cancelOrphans({ now: NOW, limit: 3 }))).toBe(3)
})
