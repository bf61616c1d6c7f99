import { unwrap, unwrapError, mapped } from '@org/agent-messaging-testing'
import Database from 'better-sqlite3'
import { expect, it, onTestFinished } from 'vitest'
import { tempFile } from '../../test/temp-file.js'
import { GroupCommitter } from './group-committer.js'

/** A committer over a table of numbers, with a count of its commits. */
function numbers({
  path = ':memory:',
  maxQueued = 1_000,
  busyTimeoutMs = 0,
  before = (_sql: unknown): void => undefined,
} = {}) {
  const statements: unknown[] = []
  const verbose = (sql: unknown) => {
    before(sql)
    statements.push(sql)
  }
  const db = new Database(path, { timeout: 0, verbose })
  onTestFinished(() => void db.close())
  db.exec('create table if not exists numbers (n integer primary key check (n < 1000))')
  const insert = db.prepare<[number]>('insert into numbers values (?)')
  const committer = new GroupCommitter(db, { maxQueued, busyTimeoutMs })
  return {
    db,
    read: committer.read.bind(committer),
    write: committer.write.bind(committer),
    turn: committer.turn.bind(committer),
    close: committer.close.bind(committer),
    add: (n: number) => insert.run(n).changes,
    stored: () => db.prepare('select n from numbers order by n').pluck().all(),
    commits: () => statements.filter((sql) => sql === 'commit').length,
  }
}

const range = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => from + i)

it('the committer commits concurrent writes together', async () => {
  const { write, add, stored, commits } = numbers()
  const written = await Promise.all(range(0, 100).map((n) => write(() => add(n))))
  expect(written.every((result) => result.ok)).toBe(true)
  expect(stored()).toEqual(range(0, 100))
  expect(commits()).toBe(1)
})

it('a write resolves after the commit, with its own value', async () => {
  const { db, write } = numbers()
  const seen = await Promise.all(
    [1, 2, 3].map((n) =>
      mapped(
        write(() => n * n),
        (square) => [square, db.inTransaction],
      ),
    ),
  )
  expect(seen.map((result) => unwrap(result))).toEqual([
    [1, false],
    [4, false],
    [9, false],
  ])
})

it('many writes are committed in several batches, in their order', async () => {
  const { write, stored, add, commits } = numbers()
  const order: number[] = []
  await Promise.all(
    range(0, 600).map((n) =>
      mapped(
        write(() => add(n)),
        () => order.push(n),
      ),
    ),
  )
  expect(order).toEqual(range(0, 600))
  expect(stored()).toEqual(range(0, 600))
  expect(commits()).toBe(3)
})

it.each([
  [
    'that breaks a constraint',
    () => 1_000,
    'SQLITE_CONSTRAINT_CHECK: CHECK constraint failed: n < 1000',
  ],
  ['with a defect', () => (undefined as unknown as { n: number }).n, 'TypeError: '],
  [
    'that parses a text that is not JSON',
    () => JSON.parse('whsec_hush'),
    'SyntaxError: a stored text is not JSON',
  ],
])('a write %s fails without failing the others', async (_, poison, reason) => {
  const { write, add, stored } = numbers()
  const [first, failed, last] = await Promise.all([
    write(() => add(1)),
    write(() => add(poison())),
    write(() => add(2)),
  ])
  expect([first, last].map((result) => unwrap(result))).toEqual([1, 1])
  const error = unwrapError(failed)
  expect(error).toEqual({ kind: 'unavailable', reason: expect.stringContaining(reason) })
  expect(error.reason).not.toContain('hush')
  expect(stored()).toEqual([1, 2])
})

it('a failed write changes nothing, in a batch or alone', async () => {
  const { write, add, stored } = numbers()
  const half = () => write(() => add(7) && add(7))
  await Promise.all([half(), write(() => add(1))])
  await half()
  expect(stored()).toEqual([1])
})

it('a full queue refuses writes at once, and accepts writes again when it is empty', async () => {
  const { write, add, stored } = numbers({ maxQueued: 2 })
  const results = await Promise.all([1, 2, 3].map((n) => write(() => add(n))))
  expect(results.map((result) => result.ok)).toEqual([true, true, false])
  expect(results[2]).toEqual({
    ok: false,
    error: { kind: 'unavailable', reason: '2 writes are waiting already' },
  })
  expect((await write(() => add(4))).ok).toBe(true)
  expect(stored()).toEqual([1, 2, 4])
})

/** Another connection that holds the write lock, like another process, until `stop`. */
function otherWriter(path: string) {
  const other = new Database(path)
  onTestFinished(() => void other.close())
  other.exec('begin immediate')
  return { stop: () => void other.exec('rollback') }
}

const turns = async (count: number) => {
  for (let i = 0; i < count; i++) await new Promise((turn) => setTimeout(turn, 1))
}

it('the queue keeps its order and the event loop continues while another process writes', async () => {
  const path = tempFile()
  const { write, read, add, stored } = numbers({ path, busyTimeoutMs: 60_000 })
  const other = otherWriter(path)
  const order: number[] = []
  const written = range(0, 300).map((n) =>
    mapped(
      write(() => add(n)),
      () => order.push(n),
    ),
  )
  await turns(20)
  expect(unwrap(await read(stored))).toEqual([])
  written.push(
    mapped(
      write(() => add(300)),
      () => order.push(300),
    ),
  )
  other.stop()
  await Promise.all(written)
  expect(order).toEqual(range(0, 301))
  expect(stored()).toEqual(range(0, 301))
})

it('writes keep their order when one of a batch fails and then another process writes', async () => {
  const path = tempFile()
  const other = new Database(path)
  onTestFinished(() => void other.close())
  let begun = 0
  const before = (sql: unknown) => {
    // The first transaction is the batch. The other process writes before the second single write.
    if (sql === 'begin immediate' && ++begun === 3) other.exec('begin immediate')
  }
  const { write, add, stored } = numbers({ path, busyTimeoutMs: 60_000, before })
  const written = [1, 1_000, 2].map((n) => write(() => add(n)))
  expect((await written[0])?.ok).toBe(true)
  expect(stored()).toEqual([1])
  other.exec('rollback')
  expect((await Promise.all(written)).map((result) => result.ok)).toEqual([true, false, true])
  expect(stored()).toEqual([1, 2])
})

it('a write is unavailable after the busy timeout, and later writes succeed', async () => {
  const path = tempFile()
  const { write, add, stored } = numbers({ path, busyTimeoutMs: 30 })
  const other = otherWriter(path)
  const results = await Promise.all([1, 2].map((n) => write(() => add(n))))
  expect(results.map((result) => unwrapError(result).reason)).toEqual(
    Array(2).fill('SQLITE_BUSY: database is locked'),
  )
  other.stop()
  expect((await write(() => add(3))).ok).toBe(true)
  expect(stored()).toEqual([3])
})

it('holds no more than its bound while it waits, and closing ends the wait', async () => {
  const path = tempFile()
  const { write, close, add } = numbers({ path, maxQueued: 2, busyTimeoutMs: 60_000 })
  const other = otherWriter(path)
  const waiting = [1, 2].map((n) => write(() => add(n)))
  await turns(5)
  expect(unwrapError(await write(() => add(3))).reason).toBe('2 writes are waiting already')
  close()
  for (const result of await Promise.all(waiting))
    expect(unwrapError(result).reason).toBe('SQLITE_BUSY: database is locked')
  other.stop()
})

it('a failed commit stores nothing, fails each of its writes, and leaves no open transaction', async () => {
  const { db, write, add, stored } = numbers()
  db.exec(
    'create table parents (n integer primary key); create table children (n references parents deferrable initially deferred)',
  )
  const orphan = () => db.prepare('insert into children values (1)').run().changes
  const results = await Promise.all([write(() => add(1)), write(orphan)])
  expect(results.map((result) => unwrapError(result).reason)).toEqual(
    Array(2).fill('SQLITE_CONSTRAINT_FOREIGNKEY: FOREIGN KEY constraint failed'),
  )
  expect((await write(() => add(2))).ok).toBe(true)
  expect(stored()).toEqual([2])
})

it('a write is unavailable when the disk is full, and succeeds when there is room', async () => {
  const { db, write, add } = numbers({ path: tempFile() })
  db.exec('create table texts (text)')
  const fill = () => db.prepare('insert into texts values (?)').run('x'.repeat(100_000)).changes
  const pages = db.pragma('page_count', { simple: true }) as number
  db.pragma(`max_page_count = ${pages}`)
  const results = await Promise.all([write(() => add(1)), write(fill)])
  expect(results[0].ok).toBe(true)
  expect(unwrapError(results[1]).reason).toBe('SQLITE_FULL: database or disk is full')
  db.pragma('max_page_count = 100000')
  expect((await write(fill)).ok).toBe(true)
})

it('a read that gives way continues after the commit of the writes that came meanwhile', async () => {
  const { write, turn, add, stored } = numbers()
  const turned = turn()
  const written = write(() => add(1))
  await turned
  expect(stored()).toEqual([1])
  await written
  await turn()
  expect(stored()).toEqual([1])
})

it('a read gives way to the second write of an operation, but not to writes without end', async () => {
  const { write, turn, add, stored } = numbers()
  let isOn = true
  let next = 0
  const writing = (async () => {
    while (isOn) await write(() => add(next++))
  })()
  await turn()
  const before = stored().length
  expect(before).toBeGreaterThanOrEqual(2)
  await turn()
  expect(stored().length).toBeGreaterThanOrEqual(before + 2)
  isOn = false
  await writing
})

it('reads that give way continue in different turns of the event loop', async () => {
  const { turn } = numbers()
  const order: string[] = []
  const first = turn().then(() => {
    setImmediate(() => order.push('turn'))
    order.push('first')
  })
  await Promise.all([first, turn().then(() => order.push('second'))])
  expect(order).toEqual(['first', 'turn', 'second'])
})

it('close commits the queued writes, and later calls are unavailable', async () => {
  const { write, read, close, add, stored } = numbers()
  const queued = range(0, 300).map((n) => write(() => add(n)))
  close()
  const late = [await write(() => add(999)), await read(stored)]
  expect((await Promise.all(queued)).every((result) => result.ok)).toBe(true)
  expect(stored()).toEqual(range(0, 300))
  for (const result of late)
    expect(unwrapError(result)).toEqual({
      kind: 'unavailable',
      reason: 'the storage is closed',
    })
})

it('a query that throws is unavailable', async () => {
  const { db, read } = numbers()
  const result = await read(() => db.prepare('select * from missing').all())
  expect(unwrapError(result).reason).toBe('SQLITE_ERROR: no such table: missing')
})
