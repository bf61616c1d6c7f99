import type { Accepted, NewMessage, Storage, Stored } from '@org/agent-messaging-core/storage'
import {
  anAgent,
  aProject,
  BUILT_AT as NOW,
  newMessage,
  unwrap,
} from '@org/agent-messaging-testing'
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest'
import { testPostgres, type TestPostgres } from '../../test/test-postgres.js'
import { openPostgresStorage } from '../index.js'

let postgres: TestPostgres
beforeAll(async () => {
  postgres = await testPostgres()
})
afterAll(() => postgres.close())

const done = async <T>(stored: Stored<T>): Promise<T> => unwrap(await stored)
const all = (storage: Storage, drafts: readonly NewMessage[]): Promise<Accepted[]> =>
  Promise.all(drafts.map((draft) => done(storage.messages.accept(draft))))
async function oneByOne(storage: Storage, drafts: readonly NewMessage[]): Promise<Accepted[]> {
  const accepted = []
  for (const draft of drafts) accepted.push(await done(storage.messages.accept(draft)))
  return accepted
}

const [busy, other] = [anAgent({ maxQueued: 1 }), anAgent()]
const stopped = anAgent({ state: { kind: 'stopped' } })
const claim = { claimUntil: NOW + 1_000 }
const to = (agent: typeof busy, sessionId: string, more: Partial<NewMessage> = {}) =>
  newMessage(agent, { sessionId, ...more })
// From a process whose clock is behind.
const late = ['b', 'ä', '😀'].map((id) => to(other, id, { now: NOW - 5_000 }))
const fresh = [
  to(busy, 'c', claim),
  to(busy, 'a'),
  to(other, 'b', { ...claim, idempotencyKey: 'k' }),
  to(other, 'ä', claim),
  to(other, '😀'),
]
const [, , keyed] = fresh
const BATCHES: Record<string, readonly NewMessage[]> = {
  'new sessions': fresh,
  'the same sessions again': ['c', 'a']
    .map((id) => to(busy, id, claim))
    .concat(['b', 'ä', '😀'].map((id) => to(other, id))),
  'later, but with earlier times': late,
  'one that is full': [to(busy, 'a'), to(busy, 'd'), to(busy, 'e', claim), to(other, 'f')],
  'a key that was used': [
    to(busy, 'g'),
    to(other, 'h', { idempotencyKey: 'k' }),
    to(busy, 'i', { idempotencyKey: 'k' }),
    to(other, 'j'),
  ],
  'a message that is repeated': [
    to(busy, 'l'),
    ...(keyed ? [{ ...keyed, idempotencyKey: 'another' }] : []),
    to(other, 'm'),
  ],
  'an agent that does not run': [to(other, 'v'), to(stopped, 'v'), to(other, 'w')],
  'an agent of another project': [
    to(other, 'x'),
    { ...to(busy, 'x'), projectId: 'p' },
    to(other, 'y'),
  ],
  'an agent that is nowhere': [to(other, 'z'), to(anAgent(), 'z'), to(other, 'z2')],
  'agents that do not run, or are nowhere': [
    to(stopped, 'a'),
    to(anAgent(), 'a'),
    { ...to(busy, 'n'), projectId: 'p' },
    to(other, 'n'),
  ],
  'two of one session': [
    to(other, 'o', claim),
    to(other, 'o'),
    to(other, 'p'),
    to(other, 'q', { idempotencyKey: 'q' }),
  ],
  'two of one key': [
    to(other, 'r', { idempotencyKey: 'r' }),
    to(other, 's', { idempotencyKey: 'r' }),
    to(other, 't'),
    to(other, 'u'),
  ],
}

const LOCK_WAITS =
  "select 1 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()"

async function scene() {
  const pool = await postgres.pool()
  const storage = await openPostgresStorage({ pool })
  onTestFinished(async () => {
    await storage.close()
    await pool.end()
  })
  await done(storage.credentials.createProject(aProject()))
  for (const agent of [busy, other, stopped]) await done(storage.agents.create(agent, 1_000))
  const tables = async () => {
    const { rows } = await pool.query<Record<string, unknown>>(`
      select m.id, m.agent_id, s.session_id, m.position, m.idempotency_key, m.state, m.attempt, m.not_before, m.started_at, s.lease, s.due_at,
        s.head_position, s.last_position, s.open_count, s.last_message_id, s.last_message_at
      from agent_messaging.messages m join agent_messaging.sessions s on s.seq = m.session_seq order by m.id`)
    return rows
  }
  return { pool, storage, tables }
}

it('a batch of messages has the same results as the messages one by one', async () => {
  const [together, apart] = [await scene(), await scene()]
  for (const [name, drafts] of Object.entries(BATCHES)) {
    expect([name, await all(together.storage, drafts)]).toEqual([
      name,
      await oneByOne(apart.storage, drafts),
    ])
    expect([name, await together.tables()]).toEqual([name, await apart.tables()])
  }
})

it('a message whose session fills up during the batch is refused, and the others are accepted', async () => {
  const { pool, storage } = await scene()
  await done(storage.messages.accept(to(busy, 'full')))
  const host = await pool.connect()
  await host.query('begin')
  await host.query("update agent_messaging.sessions set open_count = 2 where session_id = 'full'")
  const accepting = all(storage, [to(busy, 'full'), to(busy, 'v'), to(other, 'w'), to(other, 'x')])
  await expect.poll(async () => (await pool.query(LOCK_WAITS)).rows).not.toEqual([])
  await host.query('commit')
  host.release()
  expect((await accepting).map(({ kind }) => kind)).toEqual([
    'session_full',
    'created',
    'created',
    'created',
  ])
})
