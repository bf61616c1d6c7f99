import type { Storage } from '@org/agent-messaging-core/storage'
import { anEvent, PROJECT_ID } from '@org/agent-messaging-testing'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { done, storeScene } from '../../test/store-scene.js'
import { testPostgres, type TestPostgres } from '../../test/test-postgres.js'
import { openPostgresStorage } from '../index.js'

let postgres: TestPostgres
beforeAll(async () => {
  postgres = await testPostgres()
}, 60_000)
afterAll(() => postgres.close())

const INSERT = `
  insert into agent_messaging.events (id, project_id, has_deliveries, name, body, created_at)
  values ($1, '${PROJECT_ID}', false, 'agent.started', '{}', 0)`

async function idsAfter(storage: Storage, after?: number) {
  const page = await done(
    storage.events.list({
      projectId: PROJECT_ID,
      limit: 10,
      ...(after !== undefined && { after }),
    }),
  )
  if (page === 'expired') throw new Error('the position has expired')
  return { ids: page.events.map(({ id }) => id), next: page.next }
}

it('an event whose commit is delayed comes after the events that were read before', async () => {
  const { pool, storage, agent } = await storeScene(postgres)
  const second = await openPostgresStorage({ pool })
  const slow = await pool.connect()
  await slow.query('begin')
  await slow.query(INSERT, ['slow'])
  const quick = anEvent(agent, { id: 'quick' })
  const outgoing = { events: [quick], nextDeliveryId: () => 'none' }
  const to = { kind: 'running', startedAt: 0 } as const
  await done(storage.agents.changeState({ agentId: agent.id, from: 'running', to, outgoing }))
  const first = await idsAfter(second)
  expect(first.ids).toEqual(['quick'])
  await slow.query('commit')
  slow.release()
  expect((await idsAfter(storage, first.next)).ids).toEqual(['slow'])
  expect((await idsAfter(second)).ids).toEqual(['quick', 'slow'])
})

it('an open transaction of a host holds back no reader', async () => {
  const { pool, storage } = await storeScene(postgres)
  const host = await pool.connect()
  await host.query('begin')
  await host.query('create table host (id int)')
  await pool.query(INSERT, ['later'])
  expect((await idsAfter(storage)).ids).toEqual(['later'])
  await host.query('rollback')
  host.release()
})

it('readers that ask at once give each event one position', async () => {
  const { pool, storage } = await storeScene(postgres)
  for (let i = 0; i < 20; i++) await pool.query(INSERT, [`event ${i}`])
  const pages = await Promise.all(Array.from({ length: 8 }, () => idsAfter(storage)))
  for (const page of pages) expect(page).toEqual(pages[0])
  expect(pages[0]?.ids).toHaveLength(10)
  const { rows } = await pool.query(
    'select count(distinct position)::int as positions from agent_messaging.events',
  )
  expect(rows).toEqual([{ positions: 20 }])
})

it('an event that wakes 500 readers costs a few transactions', async () => {
  const { pool, storage } = await storeScene(postgres)
  await idsAfter(storage)
  await pool.query(INSERT, ['one'])
  const connect = vi.spyOn(pool, 'connect')
  const pages = await Promise.all(Array.from({ length: 500 }, () => idsAfter(storage, 0)))
  for (const { ids } of pages) expect(ids).toEqual(['one'])
  expect(connect.mock.calls.length).toBeLessThan(20)
})
