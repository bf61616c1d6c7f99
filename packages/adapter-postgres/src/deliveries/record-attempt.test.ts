import { accepted, anEvent, aWebhook, BUILT_AT, PROJECT_ID } from '@org/agent-messaging-testing'
import type { Webhook } from '@org/agent-messaging-core'
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
        receiverId: webhook.id,
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

it('only the first success makes a new version of a webhook, and each other update', async () => {
  const { pool, storage, agent } = await storeScene(postgres)
  const { webhooks, deliveries } = storage
  const webhook = aWebhook()
  await done(webhooks.create(webhook, 1))
  const version = async () => {
    const { rows } = await pool.query('select version from agent_messaging.webhooks')
    return Number(rows[0].version)
  }
  const succeed = async (at: number) => {
    const event = anEvent(agent, { id: `event-${at}`, createdAt: BUILT_AT })
    await done(deliveries.publishTo(webhook.id, event, `delivery-${at}`))
    const due = { limit: 9, retries: 9, perWebhook: 9, perProject: 9, rooms: new Map() }
    const { deliveries: claimed } = await done(
      deliveries.claimDue({ ...due, now: at, until: at + 60_000, except: new Set() }),
    )
    const record = claimed.map(({ delivery, lease }) => ({
      deliveryId: delivery.id,
      token: lease.token,
      webhookId: webhook.id,
      attempt: { startedAt: BUILT_AT, durationMs: 1, outcome: accepted() },
      state: { kind: 'delivered', deliveredAt: at } as const,
      decideHealth: ({ health, updatedAt }: Webhook) => ({
        change: { health: { ...health, lastSuccessAt: at }, updatedAt },
      }),
    }))
    await done(deliveries.recordAttempts(record))
    const stored = await done(webhooks.get(PROJECT_ID, webhook.id))
    expect(stored?.health.lastSuccessAt).toBe(at)
  }
  expect(await version()).toBe(0)
  await succeed(BUILT_AT + 1)
  expect(await version()).toBe(1)
  await succeed(BUILT_AT + 2)
  expect(await version()).toBe(1)
  await done(webhooks.delete(PROJECT_ID, webhook.id))
  expect(await version()).toBe(2)

  const { rows: unwatched } = await pool.query(`
    select attname from pg_attribute where attrelid = 'agent_messaging.webhooks'::regclass and attnum > 0
      and attnum <> all((select tgattr from pg_trigger where tgname = 'webhooks_version')::int2[])
    order by attname`)
  // The last success, and what never changes.
  expect(unwatched.map(({ attname }) => attname)).toEqual(
    'created_at hook_name id last_success_at message_id project_id seq version'.split(' '),
  )
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
