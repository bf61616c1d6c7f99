import { accepted, anEvent, aWebhook, BUILT_AT, PROJECT_ID } from '@org/agent-messaging-testing'
import pg from 'pg'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { done, storeScene } from '../../test/store-scene.js'
import { testPostgres, type TestPostgres } from '../../test/test-postgres.js'
import { OneAtATime } from './record-attempt.js'

let postgres: TestPostgres
beforeAll(async () => {
  postgres = await testPostgres()
})
afterAll(() => postgres.close())

it('the successes of many healthy webhooks share their statements', async () => {
  const WEBHOOKS = 40
  const { storage, agent } = await storeScene(postgres)
  const { webhooks, deliveries } = storage
  const ids = Array.from({ length: WEBHOOKS }, (_, n) => `webhook-${n}`)
  for (const id of ids) await done(webhooks.create(aWebhook({ id }), WEBHOOKS))
  for (const id of ids)
    await done(
      deliveries.publishTo(
        id,
        anEvent(agent, { id: `event-${id}`, createdAt: BUILT_AT }),
        `delivery-${id}`,
      ),
    )
  const at = BUILT_AT + 1
  const [limit, until] = [1_000, BUILT_AT + 60_000]
  const due = { limit, retries: limit, perWebhook: limit, perProject: limit, rooms: new Map() }
  const { deliveries: claimed } = await done(
    deliveries.claimDue({ ...due, now: at, until, except: new Set() }),
  )
  expect(claimed).toHaveLength(WEBHOOKS)

  const query = vi.spyOn(pg.Client.prototype, 'query')
  const recorded = await done(
    deliveries.recordAttempts(
      claimed.map(({ delivery, lease, webhook }) => ({
        deliveryId: delivery.id,
        token: lease.token,
        webhookId: webhook.id,
        attempt: { startedAt: BUILT_AT, durationMs: 1, outcome: accepted() },
        state: { kind: 'delivered', deliveredAt: at },
        decideHealth: ({ health, updatedAt }) => ({
          change: { health: { ...health, lastSuccessAt: at }, updatedAt },
        }),
      })),
    ),
  )
  expect(recorded).toEqual(claimed.map(() => ({ kind: 'recorded' })))
  expect(query.mock.calls.length).toBeLessThan(WEBHOOKS / 2)
  query.mockRestore()
  for (const id of ids) {
    const webhook = await done(webhooks.get(PROJECT_ID, id))
    expect(webhook?.health.lastSuccessAt).toBe(at)
  }
})

it('work of one key runs in order, one at a time, and work of other keys goes ahead', async () => {
  const oneAtATime = new OneAtATime()
  const log: string[] = []
  let release = (): void => undefined
  const held = new Promise<void>((resolve) => (release = resolve))
  const first = oneAtATime.run('a', async () => {
    await held
    log.push('first')
    throw new Error('it broke')
  })
  const second = oneAtATime.run('a', async () => log.push('second'))
  await oneAtATime.run('b', async () => log.push('other'))
  expect(log).toEqual(['other'])
  release()
  await expect(first).rejects.toThrow('it broke')
  await second
  expect(log).toEqual(['other', 'first', 'second'])
  await oneAtATime.run('a', async () => log.push('later'))
  expect(log.at(-1)).toBe('later')
})
