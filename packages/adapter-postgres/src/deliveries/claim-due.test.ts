import {
  anEvent,
  aProject,
  aWebhook,
  BUILT_AT,
  fakeIds,
  PROJECT_ID,
} from '@org/agent-messaging-testing'
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest'
import { done, storeScene } from '../../test/store-scene.js'
import { testPostgres, type TestPostgres } from '../../test/test-postgres.js'
import { DueClaims } from './claim-due.js'
import { queriesOn, type Queries } from '../database/gateway.js'
import { openPostgresStorage } from '../index.js'

const NOW = Date.UTC(2030, 0, 1)
const SECOND = 1_000

let postgres: TestPostgres
beforeAll(async () => {
  postgres = await testPostgres()
})
afterAll(() => postgres.close())

/** A webhook with deliveries that are due at these times. Records the floors of each claim. */
async function scene(...dueAts: readonly number[]) {
  const pool = await postgres.pool()
  const storage = await openPostgresStorage({ pool })
  onTestFinished(async () => {
    await storage.close()
    await pool.end()
  })
  await storage.credentials.createProject(aProject())
  await storage.webhooks.create(aWebhook(), 10)
  const publish = async (dueAt: number) =>
    void (await pool.query(
      `with told as (insert into agent_messaging.events (id, project_id, has_deliveries, name, body, created_at) values (gen_random_uuid()::text, '', true, 'webhook.test', '{}', 0) returning seq)
       insert into agent_messaging.deliveries (id, project_id, webhook_seq, receiver_seq, event_seq, state, step, attempt_count, due_at, lease, created_at)
       select 'd' || told.seq, $1, w.seq, w.seq, told.seq, 'pending', 0, 0, $2, 0, 0 from told, agent_messaging.webhooks w`,
      [PROJECT_ID, dueAt],
    ))
  for (const dueAt of dueAts) await publish(dueAt)
  const floors: number[][] = []
  let beforeClaim = async (): Promise<void> => undefined
  const db = queriesOn(pool)
  const watched: Queries = {
    ...db,
    all: async (statement, parameters) => {
      if ('floors' in parameters) floors.push(floorsIn(String(parameters.floors)))
      if ('shares' in parameters) await beforeClaim()
      return db.all(statement, parameters)
    },
  }
  const dueClaims = new DueClaims()
  const bounds = {
    limit: 2,
    perWebhook: 2,
    perProject: 2,
    retries: 2,
    rooms: new Map(),
    except: new Set<string>(),
  }
  const claim = async (now: number) =>
    (await dueClaims.claim(watched, { now, until: now + 30_000, ...bounds })).deliveries.length
  const circuit = (until: number) =>
    pool.query('update agent_messaging.webhooks set circuit_until = $1', [until])
  return {
    publish,
    claim,
    floors,
    circuit,
    meanwhile: (step: () => Promise<unknown>) => (beforeClaim = async () => void (await step())),
  }
}

const floorsIn = (rows: string): number[] =>
  (JSON.parse(rows) as { readonly floor: number }[]).map(({ floor }) => floor)

it('a claim starts at the oldest delivery of the previous claim for a second', async () => {
  const { claim, floors } = await scene(
    ...Array.from({ length: 5 }, (_, n) => NOW - (60 - n) * SECOND),
  )
  expect([await claim(NOW), await claim(NOW + 500), await claim(NOW + 1_000)]).toEqual([2, 2, 1])
  expect(floors).toEqual([[], [NOW - 60 * SECOND], []])
})

it('a claim finds a delivery that was committed up to 15 s late', async () => {
  const { claim, publish } = await scene(NOW - SECOND, NOW)
  expect(await claim(NOW)).toBe(2)
  await publish(NOW - 14 * SECOND)
  expect(await claim(NOW + 500)).toBe(1)
})

it('a claim takes nothing from a half-open webhook that another process began to probe', async () => {
  const { claim, circuit, meanwhile } = await scene(NOW, NOW)
  await circuit(NOW)
  meanwhile(() => circuit(NOW + 30_000))
  expect(await claim(NOW)).toBe(0)
})

it('claims serve the webhooks of a project in turn', async () => {
  const { storage, agent } = await storeScene(postgres)
  const ids = fakeIds()
  const webhooks = [1, 2, 3].map(() => aWebhook({ id: ids.next() }))
  for (const webhook of webhooks) await done(storage.webhooks.create(webhook, 3))
  for (const { id } of [...webhooks, ...webhooks])
    await done(storage.deliveries.publishTo(id, anEvent(agent, { id: ids.next() }), ids.next()))
  const bounds = { limit: 9, perWebhook: 1, perProject: 1, retries: 9, rooms: new Map() }
  const times = { now: BUILT_AT, until: BUILT_AT + 30_000, timeoutMs: 1_000 }
  const claim = () =>
    done(storage.deliveries.claimDue({ ...times, ...bounds, except: new Set<string>() }))
  const served = []
  for (let n = 0; n < 4; n++)
    served.push(...(await claim()).deliveries.map(({ webhook }) => webhook.id))
  const [first, second, third] = webhooks.map(({ id }) => id)
  expect(served).toEqual([first, second, third, first])
})

it('claims that get no retries pass a thousand webhooks whose retries are due', async () => {
  const pool = await postgres.pool()
  const storage = await openPostgresStorage({ pool })
  onTestFinished(async () => {
    await storage.close()
    await pool.end()
  })
  await storage.credentials.createProject(aProject())
  await storage.webhooks.create(aWebhook(), 10)
  await pool.query(`
    insert into agent_messaging.webhooks overriding system value
      select copy.* from agent_messaging.webhooks w, generate_series(1, 1100) n,
        jsonb_populate_record(w, jsonb_build_object('seq', w.seq + n, 'id', 'w' || n)) copy;
    with told as (insert into agent_messaging.events (id, project_id, has_deliveries, name, body, created_at) values (gen_random_uuid()::text, '', true, 'webhook.test', '{}', 0) returning seq)
      insert into agent_messaging.deliveries (id, project_id, webhook_seq, receiver_seq, event_seq, state, step, attempt_count, due_at, lease, created_at)
      select 'd' || w.seq, w.project_id, w.seq, w.seq, told.seq, 'pending', 0, case when w.id = 'w1100' then 0 else 1 end, 0, 0, 0
      from told, agent_messaging.webhooks w`)
  const claims = new DueClaims()
  const bounds = { limit: 9, perWebhook: 9, perProject: 9, retries: 0, rooms: new Map() }
  const claim = async () => {
    const query = { now: NOW, until: NOW + 30_000, ...bounds, except: new Set<string>() }
    return (await claims.claim(queriesOn(pool), query)).deliveries.map(({ webhook }) => webhook.id)
  }
  expect([await claim(), await claim()]).toEqual([[], ['w1100']])
})
