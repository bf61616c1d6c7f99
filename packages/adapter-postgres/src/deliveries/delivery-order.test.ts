import type { Agent } from '@org/agent-messaging-core'
import type { ClaimedDelivery, Outgoing, Storage } from '@org/agent-messaging-core/storage'
import {
  accepted,
  anEvent,
  aWebhook,
  BUILT_AT as NOW,
  fakeIds,
  newMessage,
  PROJECT_ID,
} from '@org/agent-messaging-testing'
import type pg from 'pg'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { done, storeScene } from '../../test/store-scene.js'
import { testPostgres, type TestPostgres } from '../../test/test-postgres.js'
import { queriesOn, type Queries } from '../database/gateway.js'
import { perform } from '../database/operations.js'
import { fanOut } from '../events/fan-out.js'
import { cancelDelivery } from '@org/agent-messaging-sql-kit'

// A delivery is born while another transaction ends the one ahead of it. The later commit
// must see the earlier one, or the delivery waits for ever.

/** Connections that wait for a lock. */
const WAITING =
  "select 1 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()"
const CLAIM = { until: NOW + 60_000, except: new Set<string>() }
const ids = fakeIds(0x0def)

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
  await done(storage.webhooks.create(aWebhook({ ordering: 'session' }), 1_000))
})

const outgoing = (): Outgoing => ({
  events: [anEvent(agent, { sessionId: 's', createdAt: NOW })],
  nextDeliveryId: ids.next,
  claim: CLAIM,
})
async function publish(): Promise<readonly ClaimedDelivery[]> {
  const to = { kind: 'running', startedAt: NOW } as const
  const change = { agentId: agent.id, from: 'running', to, outgoing: outgoing() } as const
  return (await done(storage.agents.changeState(change))).deliveries
}
async function first(): Promise<ClaimedDelivery> {
  const [claimed] = await publish()
  if (!claimed) throw new Error('the first delivery of a session was not born claimed')
  return claimed
}
const record = ({ delivery, lease }: ClaimedDelivery) =>
  done(
    storage.deliveries.recordAttempts([
      {
        deliveryId: delivery.id,
        token: lease.token,
        attempt: { startedAt: NOW, durationMs: 1, outcome: accepted() },
        state: { kind: 'delivered', deliveredAt: NOW },
      },
    ]),
  )
async function states(): Promise<string[]> {
  const { data } = await done(storage.deliveries.list({ projectId: PROJECT_ID }, { limit: 9 }))
  return data.map(({ state }) => state.kind).reverse()
}
const cancel = (db: Queries, deliveryId: string) =>
  perform(db, cancelDelivery, { projectId: PROJECT_ID, deliveryId }, 'skipped', NOW)

/** Runs `work` while a transaction has done `before`, and commits when `work` waits for it. */
async function during<T>(before: (db: Queries) => Promise<unknown>, work: () => Promise<T>) {
  const other = await pool.connect()
  await other.query('begin')
  await before(queriesOn(other))
  const working = work()
  await expect.poll(async () => (await pool.query(WAITING)).rows).not.toEqual([])
  await other.query('commit')
  other.release()
  return working
}

it('a delivery is due at the end of the one ahead of it that began before its commit', async () => {
  const claimed = await first()
  const recorded = await during(
    (db) => fanOut(db, outgoing()),
    () => record(claimed),
  )
  expect(recorded).toEqual([{ kind: 'recorded', nextIsDue: true }])
  expect(await states()).toEqual(['delivered', 'pending'])
})

it('a delivery is born due if the one ahead of it ends before its commit', async () => {
  const { delivery } = await first()
  const born = await during((db) => cancel(db, delivery.id), publish)
  expect(born).toHaveLength(1)
  expect(await states()).toEqual(['cancelled', 'sending'])
})

it('an answer sees the end of the delivery ahead of it', async () => {
  const { delivery } = await first()
  const run = await done(
    storage.messages.accept(newMessage(agent, { sessionId: 's', claimUntil: NOW + 60_000 })),
  )
  if (run.kind !== 'claimed') throw new Error(run.kind)
  const { message, lease } = run.claimed
  const answered = await during(
    (db) => cancel(db, delivery.id),
    () =>
      done(
        storage.messages.recordRun({
          messageId: message.id,
          token: lease.token,
          now: NOW,
          state: { kind: 'responded', response: 'hi', respondedAt: NOW, responseTimeMs: 1 },
          outgoing: outgoing(),
        }),
      ),
  )
  expect(answered).toMatchObject({ kind: 'recorded', deliveries: [{ delivery: {} }] })
  expect(await states()).toEqual(['cancelled', 'sending'])
})

it('the end of a delivery passes over a waiting one that ends before its commit', async () => {
  const claimed = await first()
  await publish()
  await publish()
  const { data } = await done(storage.deliveries.list({ projectId: PROJECT_ID }, { limit: 9 }))
  const recorded = await during(
    (db) => cancel(db, data[1]?.id ?? ''),
    () => record(claimed),
  )
  expect(recorded).toEqual([{ kind: 'recorded', nextIsDue: true }])
  expect(await states()).toEqual(['delivered', 'cancelled', 'pending'])
})
