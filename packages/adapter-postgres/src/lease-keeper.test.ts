import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest'
import { passwordServer } from '../test/password-server.js'
import { testPostgres, type TestPostgres } from '../test/test-postgres.js'
import { openWire } from '../test/wire.js'
import { openPostgresStorage, postgresLeaseKeeper } from './index.js'
import { connectionOf } from './lease-keeper.js'

const ID = '01890000-0000-7000-8000-00000000000a'
const OTHER = '01890000-0000-7000-8000-00000000000b'
const NEVER = Number.MAX_SAFE_INTEGER
/** The thread must connect within a third of it. */
const LEASE_MS = 3_000
/** For tests in which the thread must report no other problem, such as a slow connection. */
const LONG_LEASE_MS = 15_000

let postgres: TestPostgres
let connectionString: string
let pool: pg.Pool
beforeAll(async () => {
  postgres = await testPostgres()
  connectionString = await postgres.database()
  await (await openPostgresStorage({ connectionString })).close()
  pool = new pg.Pool({ connectionString })
  pool.on('error', () => undefined)
})
afterAll(async () => {
  await pool.end()
  await postgres.close()
})

/** Two running messages with lease 3, which ends at 1,000, and a lease keeper. */
async function scene(
  place: { pool: pg.Pool } | { connectionString: string } = { pool },
  leaseMs = LEASE_MS,
) {
  await pool.query(`
    delete from agent_messaging.messages; delete from agent_messaging.sessions;
    insert into agent_messaging.sessions (seq, agent_id, session_id, last_position, head_position, open_count, due_at, lease, last_message_id,
        last_message_at)
      overriding system value values (1, 'agent', 's', 2, 1, 1, 1000, 3, '', 0), (2, 'agent', 't', 2, 1, 1, 1000, 3, '', 0);
    insert into agent_messaging.messages (id, agent_id, session_seq, position, message, principal, attempt, state, created_at, open_until)
      values ('${ID}', 'agent', 1, 1, 'm', '{}', 1, 'running', 0, 0), ('${OTHER}', 'agent', 2, 1, 'm', '{}', 1, 'running', 0, 0)`)
  const said: string[] = []
  const leaseKeeper = postgresLeaseKeeper({
    ...place,
    leaseMs,
    onError: (reason) => said.push(reason),
  })
  onTestFinished(() => leaseKeeper.close())
  const dueAt = async (seq = 1): Promise<number> =>
    Number(
      (
        await pool.query<{ due_at: string }>(
          'select due_at from agent_messaging.sessions where seq = $1',
          [seq],
        )
      ).rows[0]?.due_at,
    )
  return { leaseKeeper, dueAt, said }
}

async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await condition())) await delay(10)
}

it('the thread extends a held lease repeatedly while this thread is blocked', async () => {
  const { leaseKeeper, dueAt } = await scene()
  leaseKeeper.hold({ messageId: ID, token: 3, until: NEVER })
  await until(async () => (await dueAt()) > 1_000)
  const first = await dueAt()
  let extended = first
  // On a busy machine, the thread can be late in the first block.
  for (let blocks = 0; extended === first && blocks < 20; blocks++) {
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 600)
    extended = await dueAt()
  }
  expect(extended).toBeGreaterThan(first)
  expect(extended).toBeLessThanOrEqual(Date.now() + LEASE_MS)
})

it('the thread hears of a run before the run can block this thread', async () => {
  const { leaseKeeper, dueAt } = await scene()
  leaseKeeper.hold({ messageId: OTHER, token: 3, until: NEVER })
  await until(async () => (await dueAt(2)) > 1_000) // so the thread is at work
  leaseKeeper.hold({ messageId: ID, token: 3, until: NEVER })
  await Promise.resolve()
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 4_000)
  expect(await dueAt()).toBeGreaterThan(1_000)
})

it('the thread extends a lease at most to its end', async () => {
  const { leaseKeeper, dueAt } = await scene()
  leaseKeeper.hold({ messageId: ID, token: 3, until: 2_000 })
  await until(async () => (await dueAt()) > 1_000)
  expect(await dueAt()).toBe(2_000)
})

it.each([
  ['a replaced token', 'update agent_messaging.sessions set lease = 4 where seq = 1'],
  [
    'a deferred message',
    `update agent_messaging.messages set state = 'deferred' where id = '${ID}'`,
  ],
  [
    'a message that is not the head',
    'update agent_messaging.sessions set head_position = 2 where seq = 1',
  ],
  [
    'a lease that is longer',
    'update agent_messaging.sessions set due_at = 9999999999999 where seq = 1',
  ],
])('the thread does not extend the lease of %s', async (_, change) => {
  const { leaseKeeper, dueAt } = await scene()
  await pool.query(change)
  const before = await dueAt()
  leaseKeeper.hold({ messageId: ID, token: 3, until: NEVER })
  leaseKeeper.hold({ messageId: OTHER, token: 3, until: NEVER })
  await until(async () => (await dueAt(2)) > 1_000) // so a beat has passed
  expect(await dueAt()).toBe(before)
})

it('the thread does not extend a released lease', async () => {
  const { leaseKeeper, dueAt } = await scene()
  leaseKeeper.hold({ messageId: ID, token: 3, until: NEVER })
  await until(async () => (await dueAt()) > 1_000)
  leaseKeeper.release({ messageId: ID, token: 3 })
  await until(async () => (await dueAt()) < Date.now())
  expect(await dueAt()).toBeGreaterThan(1_000)
})

it('the thread skips a locked session until the next round', async () => {
  const { leaseKeeper, dueAt, said } = await scene({ pool }, LONG_LEASE_MS / 2)
  const client = await pool.connect()
  await client.query('begin; select 1 from agent_messaging.sessions where seq = 1 for update')
  leaseKeeper.hold({ messageId: ID, token: 3, until: NEVER })
  leaseKeeper.hold({ messageId: OTHER, token: 3, until: NEVER })
  await until(async () => (await dueAt(2)) > 1_000)
  expect(await dueAt()).toBe(1_000)
  await client.query('commit')
  client.release()
  await until(async () => (await dueAt()) > 1_000)
  expect(said).toEqual([])
})

it('the thread reconnects after the server closed its connection, and reports the outage once', async () => {
  const { leaseKeeper, dueAt, said } = await scene({ pool }, LONG_LEASE_MS / 2)
  await pool.query('alter table agent_messaging.sessions rename to moved')
  leaseKeeper.hold({ messageId: ID, token: 3, until: NEVER })
  await until(() => said.length > 0)
  await pool.query('alter table agent_messaging.moved rename to sessions')
  await pool.query(
    "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and application_name = 'agent_messaging_lease_keeper'",
  )
  await until(async () => (await dueAt()) > 1_000)
  expect(said[0]).toContain('does not exist')
})

it('the thread finds the host that accepts writes', async () => {
  const several = connectionString.replace('@', '@127.0.0.1:1,')
  const place = { connectionString: `${several}?target_session_attrs=read-write` }
  const { leaseKeeper, dueAt, said } = await scene(place, LONG_LEASE_MS)
  leaseKeeper.hold({ messageId: ID, token: 3, until: NEVER })
  await until(async () => (await dueAt()) > 1_000)
  expect(said).toEqual([])
})

it('no lease ends because of a dead connection', async () => {
  const wire = await openWire(connectionString)
  onTestFinished(wire.close)
  const { leaseKeeper, dueAt, said } = await scene({ connectionString: wire.url }, 6_000)
  leaseKeeper.hold({ messageId: ID, token: 3, until: NEVER })
  await until(async () => (await dueAt()) > 1_000)
  wire.silence()
  const before = await dueAt()
  await until(async () => (await dueAt()) > before || before < Date.now())
  expect(await dueAt()).toBeGreaterThan(before)
  expect(said).toEqual([expect.stringContaining('timeout')])
})

it('an outage is reported without the password, and the lease keeper can be closed', async () => {
  const said: string[] = []
  const leaseKeeper = postgresLeaseKeeper({
    connectionString: 'postgres://me:hunter2@127.0.0.1:1/app',
    leaseMs: 400,
    onError: (reason) => said.push(reason),
  })
  leaseKeeper.hold({ messageId: ID, token: 1, until: NEVER })
  await until(() => said.length > 0)
  expect(said).toEqual([expect.stringContaining('ECONNREFUSED')])
  expect(said[0]).not.toContain('hunter2')
  await leaseKeeper.close()
})

it('a thread that cannot start is reported, and the run goes on', async () => {
  const said: string[] = []
  const uncloneable = Symbol('lease') as never
  const leaseKeeper = postgresLeaseKeeper({
    connectionString,
    leaseMs: uncloneable,
    onError: (reason) => said.push(reason),
  })
  leaseKeeper.hold({ messageId: ID, token: 1, until: NEVER })
  expect(said).toEqual([expect.stringContaining('could not be cloned')])
  await leaseKeeper.close()
})

it('the thread asks for the password of each connection if the pool has a function', async () => {
  const places: unknown[] = []
  const password = async (...given: unknown[]) => `password ${places.push(...given)}`
  const { pool: guarded, shown } = await passwordServer(password)
  const { leaseKeeper } = await scene({ pool: guarded })
  leaseKeeper.hold({ messageId: ID, token: 3, until: NEVER })
  await until(() => shown.length > 1)
  expect(shown.slice(0, 2)).toEqual(['password 1', 'password 2'])
  const { host, port, user, database } = guarded.options
  expect(places[0]).toEqual({ host, port, user, database })
})

it('a password that no thread can get is reported', async () => {
  const { pool: guarded } = await passwordServer(async () => Symbol('password') as never)
  const { leaseKeeper, said } = await scene({ pool: guarded })
  leaseKeeper.hold({ messageId: ID, token: 3, until: NEVER })
  const lost = 'could not be cloned'
  await until(() => said.some((reason) => reason.includes(lost)))
  expect(said).toContainEqual(expect.stringContaining(lost))
})

const place = {
  host: 'db.internal',
  port: 5432,
  user: 'host',
  database: 'd',
  options: '-c search_path=app',
}

it('connectionOf returns the options of a pool, with hidden ones and certificates as bytes', () => {
  const ssl = {
    ca: Buffer.from('authority'),
    key: 'key',
    cert: ['certificate'],
    rejectUnauthorized: true,
  }
  const pool = new pg.Pool({ ...place, password: 'secret', ssl: { ...ssl } })
  expect(structuredClone(connectionOf(pool))).toEqual({
    ...place,
    password: 'secret',
    ssl: { ...ssl, ca: new Uint8Array(Buffer.from('authority')) },
  })
})

it('connectionOf leaves out functions and missing options', () => {
  const ssl = { ca: 'authority', checkServerIdentity: () => undefined }
  expect(connectionOf(new pg.Pool({ ...place, password: () => 'asked for', ssl }))).toEqual({
    ...place,
    ssl: { ca: 'authority' },
  })
  expect(
    connectionOf(new pg.Pool({ connectionString: 'postgres://db.internal/d', ssl: true })),
  ).toEqual({
    connectionString: 'postgres://db.internal/d',
    ssl: true,
  })
})
