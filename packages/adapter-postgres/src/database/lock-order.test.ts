import type { Agent } from '@org/agent-messaging-core'
import type { Storage } from '@org/agent-messaging-core/storage'
import { BUILT_AT as NOW, newMessage } from '@org/agent-messaging-testing'
import type pg from 'pg'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { done, storeScene } from '../../test/store-scene.js'
import { testPostgres, type TestPostgres } from '../../test/test-postgres.js'

// A transaction that locks several sessions locks them in the order of agent id and session id.
// Otherwise two transactions could wait for each other.

/** Connections that wait for a lock. */
const WAITING =
  "select 1 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()"

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

const send = (sessionId: string) =>
  done(storage.messages.accept(newMessage(agent, { sessionId, claimUntil: NOW + 1_000 })))

async function begun(sessionId: string) {
  const accepted = await send(sessionId)
  if (accepted.kind !== 'claimed') throw new Error(accepted.kind)
  const { message, lease } = accepted.claimed
  return { messageId: message.id, token: lease.token }
}

/** Returns the sessions that the work has locked while it waits for session `b`. */
async function lockedBefore(
  sessionIds: readonly string[],
  work: () => Promise<unknown>,
): Promise<string[]> {
  const other = await pool.connect()
  await other.query(
    "begin; select 1 from agent_messaging.sessions where session_id = 'b' for update",
  )
  const working = work()
  // Without a pause, because a send waits for only a second before it lets go of its locks.
  while ((await pool.query(WAITING)).rowCount === 0);
  const free = await pool.query<{ id: string }>(
    'select session_id as id from agent_messaging.sessions for update skip locked',
  )
  await other.query('rollback')
  other.release()
  await working
  return sessionIds.filter(
    (sessionId) => sessionId !== 'b' && !free.rows.some(({ id }) => id === sessionId),
  )
}

it.each([
  ['two messages', ['b', 'a']],
  ['many messages', ['c', 'b', 'a']],
])('accepts %s', async (_, sessionIds) => {
  for (const sessionId of sessionIds) await send(sessionId)
  expect(await lockedBefore(sessionIds, () => Promise.all(sessionIds.map(send)))).toEqual(['a'])
})

it('recording runs locks sessions in order', async () => {
  const runs = [await begun('c'), await begun('b'), await begun('a')]
  const state = {
    kind: 'responded',
    response: 'done',
    respondedAt: NOW,
    responseTimeMs: 0,
  } as const
  const record = () =>
    Promise.all(runs.map((run) => done(storage.messages.recordRun({ ...run, state, now: NOW }))))
  expect(await lockedBefore(['c', 'b', 'a'], record)).toEqual(['a'])
})

it('extending leases locks sessions in order', async () => {
  const held = [await begun('c'), await begun('b'), await begun('a')]
  expect(
    await lockedBefore(['c', 'b', 'a'], () =>
      done(storage.messages.extendLeases(held, NOW + 2_000)),
    ),
  ).toEqual(['a'])
})
