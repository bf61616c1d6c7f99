import type { Agent, Message } from '@org/agent-messaging-core'
import type { ClaimedDelivery, Storage } from '@org/agent-messaging-core/storage'
import {
  anEvent,
  aWebhook,
  BUILT_AT as NOW,
  fakeIds,
  newMessage,
  PROJECT_ID,
  mapped,
} from '@org/agent-messaging-testing'
import type pg from 'pg'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { done, storeScene } from '../../test/store-scene.js'
import { testPostgres, type TestPostgres } from '../../test/test-postgres.js'

// Statements that look for work skip locked rows and do the rest.

const CLAIM_ALL = {
  limit: 100,
  perWebhook: 100,
  perProject: 100,
  retries: 100,
  rooms: new Map(),
  except: new Set<string>(),
  now: NOW,
  until: NOW + 1_000,
}
const ids = fakeIds()

let postgres: TestPostgres
beforeAll(async () => {
  postgres = await testPostgres()
})
afterAll(() => postgres.close())

let pool: pg.Pool
let storage: Storage
let agent: Agent
beforeEach(async () => {
  ;({ pool, storage, agent } = await storeScene(postgres))
})

/** Returns the result of the work while another transaction holds the first of two rows. */
async function whileLocked<T>(
  table: 'sessions' | 'deliveries' | 'webhooks',
  work: () => Promise<T>,
): Promise<T> {
  const other = await pool.connect()
  await other.query('begin')
  const locked = await other.query(
    `select seq from agent_messaging.${table} order by seq limit 1 for update`,
  )
  expect(locked.rowCount).toBe(1)
  try {
    return await work()
  } finally {
    await other.query('rollback')
    other.release()
  }
}

async function send(sessionId: string): Promise<Message> {
  const accepted = await done(storage.messages.accept(newMessage(agent, { sessionId })))
  if (accepted.kind !== 'created') throw new Error(accepted.kind)
  return accepted.message
}

const cancel = ({ id: messageId }: Message) =>
  done(
    storage.messages.cancel({
      messageId,
      agentId: agent.id,
      projectId: PROJECT_ID,
      state: { kind: 'cancelled', cancelledAt: NOW },
      outgoing: { events: [anEvent(agent)], nextDeliveryId: ids.next },
    }),
  )

/** Publishes one delivery to each of several webhooks. */
async function publish(count: number): Promise<readonly string[]> {
  const webhooks = Array.from({ length: count }, () =>
    aWebhook({ id: ids.next(), filter: { agentId: agent.id } }),
  )
  for (const webhook of webhooks) await done(storage.webhooks.create(webhook, 10))
  const outgoing = { events: [anEvent(agent, { createdAt: NOW })], nextDeliveryId: ids.next }
  await done(
    storage.agents.changeState({
      agentId: agent.id,
      from: 'running',
      to: { kind: 'running', startedAt: NOW },
      outgoing,
    }),
  )
  return webhooks.map(({ id }) => id)
}

const claimDue = (): Promise<ClaimedDelivery[]> =>
  done(mapped(storage.deliveries.claimDue(CLAIM_ALL), (claims) => [...claims.deliveries]))

it('a claim of messages skips a locked session', async () => {
  await send('first')
  const second = await send('second')
  const claim = () =>
    done(
      storage.messages.claimRunnable({
        lanes: [{ agentId: agent.id, free: 10 }],
        now: NOW,
        until: NOW + 1_000,
      }),
    )
  expect((await whileLocked('sessions', claim)).map(({ message }) => message.id)).toEqual([
    second.id,
  ])
  expect(await claim()).toHaveLength(1)
})

it('a claim of deliveries skips a locked delivery', async () => {
  await publish(2)
  expect(await whileLocked('deliveries', claimDue)).toHaveLength(1)
  expect(await claimDue()).toHaveLength(1)
})

it('a claim of a probe skips a locked webhook', async () => {
  const webhooks = await publish(2)
  const health = {
    consecutiveFailures: 5,
    circuit: { kind: 'open', until: NOW, trips: 1 },
  } as const
  for (const id of webhooks)
    await done(storage.webhooks.update(PROJECT_ID, id, { health, updatedAt: NOW }))
  expect((await whileLocked('webhooks', claimDue)).map(({ webhook }) => webhook.id)).toEqual(
    webhooks.slice(1),
  )
  expect(await claimDue()).toHaveLength(1)
})

it('a release skips a locked delivery', async () => {
  await publish(2)
  const claims = (await claimDue()).map(({ delivery, lease }) => ({
    deliveryId: delivery.id,
    token: lease.token,
    isProbe: false,
  }))
  expect(await whileLocked('deliveries', () => done(storage.deliveries.release(claims, NOW)))).toBe(
    1,
  )
  expect(await done(storage.deliveries.release(claims, NOW))).toBe(1)
})

it('a release of a probe skips a locked webhook', async () => {
  const [id = ''] = await publish(1)
  const health = {
    consecutiveFailures: 5,
    circuit: { kind: 'open', until: NOW, trips: 1 },
  } as const
  await done(storage.webhooks.update(PROJECT_ID, id, { health, updatedAt: NOW }))
  const claims = (await claimDue()).map(({ delivery, lease }) => ({
    deliveryId: delivery.id,
    token: lease.token,
    isProbe: true,
  }))
  expect(await whileLocked('webhooks', () => done(storage.deliveries.release(claims, NOW)))).toBe(1)
})

it('cancelOrphans skips a locked delivery', async () => {
  for (const id of await publish(2)) await done(storage.webhooks.delete(PROJECT_ID, id))
  const cancelOrphans = () => done(storage.deliveries.cancelOrphans({ now: NOW, limit: 10 }))
  expect(await whileLocked('deliveries', cancelOrphans)).toBe(1)
  expect(await cancelOrphans()).toBe(1)
})

it('cancelStale skips a locked delivery', async () => {
  const status = { kind: 'disabled', reason: 'operator', at: NOW } as const
  for (const id of await publish(2))
    await done(storage.webhooks.update(PROJECT_ID, id, { status, updatedAt: NOW }))
  const cancelStale = () =>
    done(storage.deliveries.cancelStale({ now: NOW, dueBefore: NOW + 1, keep: 10, limit: 10 }))
  expect(await whileLocked('deliveries', cancelStale)).toBe(1)
  expect(await cancelStale()).toBe(1)
})

it('a purge of deliveries skips a locked delivery', async () => {
  await publish(2)
  for (const { delivery } of await claimDue())
    await done(storage.deliveries.cancel(PROJECT_ID, delivery.id, NOW))
  const purge = () => done(storage.deliveries.purge({ finishedBefore: NOW + 1, limit: 10 }))
  expect(await whileLocked('deliveries', purge)).toBe(1)
  expect(await purge()).toBe(1)
})

it('a purge of messages skips a locked session', async () => {
  for (const sessionId of ['first', 'second']) await cancel(await send(sessionId))
  const purge = async () =>
    (await done(storage.messages.purge({ finishedBefore: NOW + 1, limit: 10, now: NOW }))).removed
  expect(await whileLocked('sessions', purge)).toBe(1)
  expect(await purge()).toBe(1)
})
