import { existsSync, renameSync, statSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { expect, it, onTestFinished } from 'vitest'
import { tempFile } from '../test/temp-file.js'
import { openConnection } from './database/connection.js'
import { migrate } from './schema/migrate.js'
import { extendLeaseSql, sqliteLeaseKeeper, type SqliteLeaseKeeperOptions } from './lease-keeper.js'

const ID = '01890000-0000-7000-8000-00000000000a'
const NEVER = Number.MAX_SAFE_INTEGER

/**
 * A file with a message that runs under lease 3 until 1,000, and a lease keeper for leases of 400
 * ms.
 */
function scene(options: Partial<SqliteLeaseKeeperOptions> = {}) {
  const path = tempFile()
  const db = openConnection(path, 5_000)
  migrate(db)
  db.exec(`
    insert into sessions (seq, agent_id, session_id, last_position, head_position, open_count, due_at, lease, last_message_id, last_message_at)
      values (1, 'agent', 's', 2, 1, 2, 1000, 3, '${ID}', 0);
    insert into messages (seq, id, agent_id, session_seq, position, message, principal, attempt, state, created_at, open_until)
      values (1, '${ID}', 'agent', 1, 1, 'm', '{}', 1, 'running', 0, 0)`)
  const leaseKeeper = sqliteLeaseKeeper({ path, leaseMs: 400, ...options })
  onTestFinished(async () => {
    await leaseKeeper.close()
    db.close()
  })
  const dueAt = (): number =>
    db.prepare<[], number>('select due_at from sessions').pluck().get() ?? 0
  return { db, path, leaseKeeper, dueAt }
}

const block = (ms: number) => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await delay(10)
}

it('the lease keeper extends a lease repeatedly while the main thread is blocked', async () => {
  const { leaseKeeper, dueAt } = scene()
  leaseKeeper.hold({ messageId: ID, token: 3, until: NEVER })
  await until(() => dueAt() > 1_000)
  const first = dueAt()
  // The main thread stays blocked. On a busy machine, the thread can be late.
  for (let waits = 0; waits < 3_000 && dueAt() === first; waits++) block(10)
  expect(dueAt()).toBeGreaterThan(first)
  expect(dueAt()).toBeLessThanOrEqual(Date.now() + 400)
})

it('the first lease starts the thread, also when its run blocks the main thread at once', async () => {
  const started: unknown[] = []
  const note = (thread: unknown) => void started.push(thread)
  process.on('worker', note)
  onTestFinished(() => void process.off('worker', note))
  const { leaseKeeper, dueAt } = scene()
  await delay(0) // Node reports a thread in the next tick.
  expect(started).toEqual([])
  leaseKeeper.hold({ messageId: ID, token: 3, until: NEVER })
  for (let waits = 0; waits < 3_000 && dueAt() <= 1_000; waits++) block(10)
  expect(dueAt()).toBeGreaterThan(1_000)
})

it('the lease keeper extends no lease beyond its limit', async () => {
  const { leaseKeeper, dueAt } = scene()
  leaseKeeper.hold({ messageId: ID, token: 3, until: 2_000 })
  await until(() => dueAt() > 1_000)
  expect(dueAt()).toBe(2_000)
})

it.each([
  ['a superseded token', 'update sessions set lease = 4'],
  ['a message that is deferred', "update messages set state = 'deferred'"],
  ['a message that is no longer next', 'update sessions set head_position = 2'],
  ['a lease that is longer already', 'update sessions set due_at = 9999999999999'],
])('the lease keeper does not extend %s', async (_, change) => {
  const { db, leaseKeeper, dueAt } = scene()
  db.exec(change)
  const before = dueAt()
  const other = ID.replace(/a$/, 'b')
  db.exec(`
    insert into sessions (seq, agent_id, session_id, last_position, head_position, open_count, due_at, lease, last_message_id, last_message_at)
      values (2, 'agent', 't', 1, 1, 1, 1000, 1, '${other}', 0);
    insert into messages (seq, id, agent_id, session_seq, position, message, principal, attempt, state, created_at, open_until)
      values (2, '${other}', 'agent', 2, 1, 'm', '{}', 1, 'running', 0, 0)`)
  leaseKeeper.hold({ messageId: ID, token: 3, until: NEVER })
  leaseKeeper.hold({ messageId: other, token: 1, until: NEVER })
  const otherDueAt = db.prepare<[], number>('select due_at from sessions where seq = 2').pluck()
  await until(() => (otherDueAt.get() ?? 0) > 1_000) // one pass is over
  expect(dueAt()).toBe(before)
})

it('the lease keeper stops extending a released lease', async () => {
  const { leaseKeeper, dueAt } = scene()
  leaseKeeper.hold({ messageId: ID, token: 3, until: NEVER })
  await until(() => dueAt() > 1_000)
  leaseKeeper.release({ messageId: ID, token: 3 })
  leaseKeeper.release({ messageId: ID, token: 3 })
  await until(() => dueAt() < Date.now())
  expect(dueAt()).toBeGreaterThan(1_000)
})

it('the lease keeper reports a locked file once, and continues when the file is free', async () => {
  const reported: string[] = []
  const { db, leaseKeeper, dueAt } = scene({ onError: (reason) => reported.push(reason) })
  db.exec('begin immediate')
  leaseKeeper.hold({ messageId: ID, token: 3, until: NEVER })
  await until(() => reported.length > 0)
  db.exec('commit')
  await until(() => dueAt() > 1_000)
  expect(reported).toEqual(['SqliteError: database is locked'])
})

it('a lease keeper that cannot open the file reports the reason, and can be closed', async () => {
  const reported: string[] = []
  const leaseKeeper = sqliteLeaseKeeper({
    path: '/nowhere/at/all.db',
    leaseMs: 400,
    onError: (reason) => reported.push(reason),
  })
  leaseKeeper.hold({ messageId: ID, token: 1, until: NEVER })
  await until(() => reported.length > 0)
  expect(reported[0]).toMatch(/directory does not exist/)
  await leaseKeeper.close()
})

it('the lease keeper of a database in memory does nothing', async () => {
  const leaseKeeper = sqliteLeaseKeeper({ path: ':memory:', leaseMs: 400 })
  leaseKeeper.hold({ messageId: ID, token: 1, until: NEVER })
  leaseKeeper.release({ messageId: ID, token: 1 })
  expect(await leaseKeeper.close()).toBeUndefined()
})

it('the statement finds the lease by indexes', () => {
  const { db } = scene()
  const plan = db
    .prepare<[], { detail: string }>(
      `explain query plan ${extendLeaseSql.replaceAll(/@\w+/g, '1')}`,
    )
    .all()
  expect(plan.map(({ detail }) => detail).filter((step) => step.startsWith('SEARCH'))).toHaveLength(
    3,
  )
  expect(plan.map(({ detail }) => detail).filter((step) => step.startsWith('SCAN'))).toEqual([])
})

it('the lease keeper makes no file in place of one that was moved away', async () => {
  const { path, dueAt } = scene()
  renameSync(path, `${path}.moved`)
  const log = statSync(`${path}-wal`).ino
  const problems: string[] = []
  const late = sqliteLeaseKeeper({ path, leaseMs: 400, onError: (one) => problems.push(one) })
  onTestFinished(() => late.close())
  late.hold({ messageId: ID, token: 3, until: NEVER })
  await until(() => problems.length > 0)
  expect(problems).toEqual([expect.stringContaining('unable to open database file')])
  expect([existsSync(path), statSync(`${path}-wal`).ino]).toEqual([false, log])
  renameSync(`${path}.moved`, path)
  await until(() => dueAt() > 1_000)
})

it('a thread that cannot start is reported, and the run goes on', async () => {
  const said: string[] = []
  const uncloneable = Symbol('lease') as never
  const leaseKeeper = sqliteLeaseKeeper({
    path: 'no.db',
    leaseMs: uncloneable,
    onError: (reason) => said.push(reason),
  })
  leaseKeeper.hold({ messageId: ID, token: 1, until: NEVER })
  expect(said).toEqual([expect.stringContaining('could not be cloned')])
  await leaseKeeper.close()
})
