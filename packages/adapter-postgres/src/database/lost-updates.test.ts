import type { ClaimedDelivery, Sealed, Storage } from '@org/agent-messaging-core/storage'
import {
  aHook,
  anAgent,
  anEvent,
  aProject,
  aWebhook,
  BUILT_AT as NOW,
  fakeIds,
  newMessage,
  PROJECT_ID,
  refused,
  mapped,
} from '@org/agent-messaging-testing'
import type pg from 'pg'
import { afterAll, beforeAll, beforeEach, expect, it, onTestFinished, vi } from 'vitest'
import { done } from '../../test/store-scene.js'
import { testPostgres, type TestPostgres } from '../../test/test-postgres.js'
import { openPostgresStorage } from '../index.js'

// If two transactions change a row at once, the second one starts from the first one's result.

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
/** Connections that wait for a lock. */
const WAITING =
  "select 1 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()"
const ids = fakeIds()
const sealed = 'v1.sealed.anew' as Sealed

let postgres: TestPostgres
beforeAll(async () => {
  postgres = await testPostgres()
})
afterAll(() => postgres.close())

let pool: pg.Pool
/** The storages of two processes. */
let one: Storage
let other: Storage
beforeEach(async () => {
  pool = await postgres.pool()
  one = await openPostgresStorage({ pool })
  other = await openPostgresStorage({ pool })
  onTestFinished(async () => {
    await one.close()
    await other.close()
    await pool.end()
  })
  await done(one.credentials.createProject(aProject()))
})

/** Starts all changes, in this order, before one of them gets the row. */
async function atOnce(
  table: 'agents' | 'sessions' | 'webhooks',
  works: readonly (() => Promise<unknown>)[],
): Promise<void> {
  const host = await pool.connect()
  await host.query(`begin; select 1 from agent_messaging.${table} for update`)
  const working: Promise<unknown>[] = []
  for (const work of works) {
    working.push(work())
    await vi.waitUntil(async () => (await pool.query(WAITING)).rowCount === working.length, {
      timeout: 60_000,
    })
  }
  await host.query('commit')
  host.release()
  await Promise.all(working)
}

it('concurrent changes of an agent are all kept', async () => {
  const agent = anAgent()
  await done(one.agents.create(agent, 10))
  await atOnce('agents', [
    () => done(one.agents.update(PROJECT_ID, agent.id, { concurrency: 5, updatedAt: NOW })),
    () => done(other.agents.update(PROJECT_ID, agent.id, { maxQueued: 7, updatedAt: NOW })),
  ])
  expect(await done(one.agents.get(PROJECT_ID, agent.id))).toMatchObject({
    concurrency: 5,
    maxQueued: 7,
  })
})

it('concurrent changes of a webhook are all kept', async () => {
  const webhook = aWebhook()
  await done(one.webhooks.create(webhook, 10))
  await atOnce('webhooks', [
    () =>
      done(one.webhooks.update(PROJECT_ID, webhook.id, { description: 'ours', updatedAt: NOW })),
    () =>
      done(
        other.webhooks.update(PROJECT_ID, webhook.id, {
          rotation: { secret: sealed, previousUntil: NOW },
          updatedAt: NOW,
        }),
      ),
  ])
  expect(await done(one.webhooks.get(PROJECT_ID, webhook.id))).toMatchObject({
    description: 'ours',
    secret: sealed,
  })
})

it('an answer that waits for a hook to be set reports to the hook', async () => {
  const agent = anAgent()
  await done(one.agents.create(agent, 10))
  const draft = newMessage(agent, { claimUntil: NOW + 1_000 })
  const accepted = await done(one.messages.accept(draft))
  if (accepted.kind !== 'claimed') throw new Error(accepted.kind)
  const { message, lease } = accepted.claimed
  const hook = aHook(message)
  const event = anEvent(agent, { name: 'message.responded', messageId: message.id })
  await atOnce('sessions', [
    () => done(other.webhooks.setHook(hook, agent.id, 10)),
    () =>
      done(
        one.messages.recordRun({
          messageId: message.id,
          token: lease.token,
          state: { kind: 'responded', response: 'hi', respondedAt: NOW, responseTimeMs: 1 },
          now: NOW,
          outgoing: { events: [event], nextDeliveryId: ids.next },
        }),
      ),
  ])
  const claimed = await done(
    mapped(one.deliveries.claimDue(CLAIM_ALL), (claims) => [...claims.deliveries]),
  )
  expect(claimed.map(({ webhook }) => webhook)).toEqual([hook])
})

it('resealing keeps a concurrent change', async () => {
  const [agent, webhook] = [anAgent(), aWebhook()]
  await done(one.agents.create(agent, 10))
  await done(one.webhooks.create(webhook, 10))
  const step = { after: 0, limit: 10 }
  await atOnce('agents', [
    () => done(one.agents.reseal({ ...step, reseal: (row) => ({ ...row, updatedAt: NOW + 1 }) })),
    () => done(other.agents.update(PROJECT_ID, agent.id, { maxQueued: 7, updatedAt: NOW + 2 })),
  ])
  expect(await done(one.agents.get(PROJECT_ID, agent.id))).toMatchObject({ maxQueued: 7 })
  await atOnce('webhooks', [
    () => done(one.webhooks.reseal({ ...step, reseal: (row) => ({ ...row, secret: sealed }) })),
    () =>
      done(other.webhooks.update(PROJECT_ID, webhook.id, { description: 'ours', updatedAt: NOW })),
  ])
  expect(await done(one.webhooks.get(PROJECT_ID, webhook.id))).toMatchObject({
    description: 'ours',
    secret: sealed,
  })
})

it('concurrent failures of a webhook both count', async () => {
  const [agent, webhook] = [anAgent(), aWebhook()]
  await done(one.agents.create(agent, 10))
  await done(one.webhooks.create(webhook, 10))
  for (let n = 0; n < 2; n++) {
    const outgoing = { events: [anEvent(agent, { createdAt: NOW })], nextDeliveryId: ids.next }
    await done(
      one.agents.changeState({
        agentId: agent.id,
        from: 'running',
        to: { kind: 'running', startedAt: NOW },
        outgoing,
      }),
    )
  }
  const claims = await done(
    mapped(one.deliveries.claimDue(CLAIM_ALL), (claims) => [...claims.deliveries]),
  )
  const record = ({ deliveries }: Storage, { delivery, lease }: ClaimedDelivery) =>
    done(
      deliveries.recordAttempts([
        {
          deliveryId: delivery.id,
          receiverId: webhook.id,
          token: lease.token,
          attempt: { startedAt: NOW, durationMs: 1, outcome: refused() },
          state: { kind: 'pending', nextAttemptAt: NOW + 60_000, step: 1 },
          decideHealth: ({ health }) => ({
            change: {
              health: { ...health, consecutiveFailures: health.consecutiveFailures + 1 },
              updatedAt: NOW,
            },
          }),
        },
      ]),
    )
  const [first, second] = claims as [ClaimedDelivery, ClaimedDelivery]
  await atOnce('webhooks', [() => record(one, first), () => record(other, second)])
  expect((await done(one.webhooks.get(PROJECT_ID, webhook.id)))?.health.consecutiveFailures).toBe(2)
})
