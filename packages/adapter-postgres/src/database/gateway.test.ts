import { unwrap, unwrapError } from '@org/agent-messaging-testing'
import type { Stored } from '@org/agent-messaging-core/storage'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it, onTestFinished, type TestContext } from 'vitest'
import { testPostgres, type TestPostgres } from '../../test/test-postgres.js'
import { openWire } from '../../test/wire.js'
import { createGateway, type Gateway } from './gateway.js'
import { call, sql } from './sql.js'

let postgres: TestPostgres
beforeAll(async () => {
  postgres = await testPostgres()
})
afterAll(() => postgres.close())

async function open(limits?: Parameters<typeof createGateway>[2]) {
  const pool = await postgres.pool()
  const gateway = createGateway(pool, true, limits)
  await pool.query('create table counters (id text primary key, value bigint not null)')
  return { pool, gateway }
}

describe('a transaction', () => {
  it('commits all its statements or none', async () => {
    const { gateway } = await open()
    const insert = sql<{ id: string; value: number }>(
      'insert into counters (id, value) values (@id, @value)',
    )
    const value = await gateway.write(async ({ run, one }) => {
      await run(insert, { id: 'a', value: Date.UTC(2030, 0, 1) })
      return one(sql<object, { value: number }>('select value from counters'), {})
    })
    expect(unwrap(value)).toEqual({ value: Date.UTC(2030, 0, 1) })
    const failed = await gateway.write(async ({ run }) => {
      await run(insert, { id: 'b', value: 1 })
      throw new Error('half-way')
    })
    expect(unwrapError(failed)).toEqual({ kind: 'unavailable', reason: 'half-way' })
    expect(
      unwrap(await gateway.read(({ all }) => all(sql('select id from counters'), {}))),
    ).toEqual([{ id: 'a' }])
    await gateway.close()
  })
  it('keeps its connection after a failure', async () => {
    const { gateway } = await open()
    const pid = sql<object, { pid: number }>('select pg_backend_pid() as pid')
    let before: { pid: number } | undefined
    await gateway.write(async ({ one }) => {
      before = await one(pid, {})
      throw new Error('half-way')
    })
    expect(unwrap(await gateway.read(({ one }) => one(pid, {})))).toEqual(before)
    await gateway.close()
  })
  it('runs again after a unique violation, and then finds the row', async () => {
    const { gateway } = await open()
    const find = sql<{ id: string }, { value: number }>('select value from counters where id = @id')
    const insert = sql<{ id: string; value: number }>(
      'insert into counters (id, value) values (@id, @value)',
    )
    const findOrInsert = (value: number) =>
      gateway.write(async ({ one, run }) => {
        const found = await one(find, { id: 'key' })
        if (found) return found.value
        await run(insert, { id: 'key', value })
        return value
      })
    const values = await Promise.all(Array.from({ length: 8 }, (_, n) => findOrInsert(n)))
    expect(new Set(values.map((value) => unwrap(value))).size).toBe(1)
    await gateway.close()
  })
  it.each(['40001', '40P01', '23505'])(
    'runs again after %s from any copy of the driver',
    async (code) => {
      const { gateway } = await open()
      let runs = 0
      const value = await gateway.write(async () => {
        if (++runs < 3) throw Object.assign(new Error('again'), { code })
        return 'done'
      })
      expect([unwrap(value), runs]).toEqual(['done', 3])
      const never = await gateway.write(() =>
        Promise.reject(Object.assign(new Error('again'), { code })),
      )
      expect(unwrapError(never)).toEqual({ kind: 'unavailable', reason: `${code}: again` })
      await gateway.close()
    },
  )
  it('sets its isolation level and timeouts itself', async () => {
    const { gateway, pool } = await open()
    await pool.query('set session characteristics as transaction isolation level serializable')
    const settings = sql<object, { isolation: string; idle: string; lock: string }>(`
      select current_setting('transaction_isolation') as isolation, current_setting('lock_timeout') as lock,
        current_setting('idle_in_transaction_session_timeout') as idle`)
    const seen = await gateway.write(({ one }) => one(settings, {}))
    expect(unwrap(seen)).toEqual({ isolation: 'read committed', idle: '10s', lock: '10s' })
    await gateway.close()
  })
  it('is unavailable if the server closes its connection, and the next one succeeds', async () => {
    const { gateway, pool } = await open()
    const cut = await gateway.write(async ({ one }) => {
      const own = await one(sql<object, { pid: number }>('select pg_backend_pid() as pid'), {})
      await pool.query('select pg_terminate_backend($1)', [own?.pid])
      return one(sql('select 1'), {})
    })
    expect(!cut.ok).toBe(true)
    expect(unwrap(await gateway.read(({ one }) => one(sql('select 1 as one'), {})))).toEqual({
      one: 1,
    })
    await gateway.close()
  })
  it('that runs finishes before a close, and a later one is refused', async () => {
    const { gateway } = await open()
    const writing = gateway.write(({ one }) => one(sql('select pg_sleep(0.05), 1 as one'), {}))
    await gateway.close()
    expect(unwrap(await writing)).toMatchObject({ one: 1 })
    expect(!(await gateway.read(async () => 1)).ok).toBe(true)
  })
})

// Each waits most of its time for an answer that does not come.
describe.concurrent('a dead connection', () => {
  const one = sql<object, { one: number }>('select 1 as one')

  /** All open connections are dead. New ones can be opened. */
  async function silenced(
    { onTestFinished }: TestContext,
    limits = { silentMs: 60_000, answerMs: 2_500 },
    max = 4,
  ) {
    const wire = await openWire(await postgres.database())
    onTestFinished(wire.close)
    const gateway = createGateway(new pg.Pool({ connectionString: wire.url, max }), true, limits)
    return { gateway, wire }
  }

  it.for<[string, (gateway: Gateway) => Stored<unknown>]>([
    ['a read', ({ read }) => read((db) => db.one(one, {}))],
    ['a call', ({ call }) => call((db) => db.one(one, {}))],
    ['the begin of a transaction', ({ write }) => write((db) => db.one(one, {}))],
    [
      'what goes in groups',
      ({ grouped }) => grouped({ maxBatchSize: 1, flush: (db, all) => db.all(one, all) })({}),
    ],
  ])('fails %s, and the next one uses another connection', async ([, use], test) => {
    const { gateway, wire } = await silenced(test)
    expect((await use(gateway)).ok).toBe(true)
    wire.silence()
    expect(unwrapError(await use(gateway)).reason).toContain('timeout')
    expect((await use(gateway)).ok).toBe(true)
    await gateway.close()
  })
  it('is found by a test, with all others of the pool', async (test) => {
    const { gateway, wire } = await silenced(test, { silentMs: 200, answerMs: 60_000 })
    const four = <T>(work: () => T) => Promise.all(Array.from({ length: 4 }, work))
    const slow = sql<object, { one: number }>('select 1 as one from pg_sleep(0.1)')
    await four(() => gateway.read((db) => db.one(slow, {})))
    wire.silence()
    const failed = await gateway.read((db) => db.one(one, {}))
    expect(unwrapError(failed).reason).toContain('the connection did not answer')
    for (const read of await four(() => gateway.read((db) => db.one(slow, {}))))
      expect(read.ok).toBe(true)
    await gateway.close()
  })
  it('is not one that waits for a lock', async () => {
    const { gateway, pool } = await open({ silentMs: 100, answerMs: 60_000 })
    await pool.query("insert into counters (id, value) values ('a', 1)")
    const holder = await pool.connect()
    await holder.query("begin; select 1 from counters where id = 'a' for update")
    const update = sql("update counters set value = 2 where id = 'a'")
    const waiting = gateway.write(({ run }) => run(update, {}))
    await holder.query('select pg_sleep(1)')
    await holder.query('commit')
    holder.release()
    expect(unwrap(await waiting)).toBe(1)
    await gateway.close()
  })
  it.for(['its statement', 'its end'])(
    'fails a running transaction at %s, and is closed',
    async (at, test) => {
      const max = 2
      const { gateway, wire } = await silenced(test, undefined, max)
      for (let n = 0; n <= max; n++) {
        const cut = await gateway.write(async (db) => {
          await db.one(one, {})
          wire.silence()
          if (at === 'its statement') await db.one(one, {})
        })
        expect(!cut.ok).toBe(true)
      }
      expect((await gateway.read((db) => db.one(one, {}))).ok).toBe(true)
      await gateway.close()
    },
  )
})

describe('named parameters', () => {
  it('are numbered in the order of their first use, and nothing else changes', () => {
    expect(sql("select @b, @a, @b, 'x@y', a @> b where t = @b::text[]")).toEqual({
      text: "select $1, $2, $1, 'x@y', a @> b where t = $1::text[]",
      names: ['b', 'a'],
    })
  })
})

describe('a prepared statement', () => {
  const double = call<{ n: number }, { doubled: number }>('select @n::int * 2 as doubled')
  async function openOne() {
    const pool = await postgres.pool({ max: 1 })
    const gateway = createGateway(pool, true)
    onTestFinished(() => gateway.close())
    const prepared = async () =>
      (await pool.query<{ name: string }>('select name from pg_prepared_statements')).rows
    const doubled = async (n: number) => unwrap(await gateway.read(({ one }) => one(double, { n })))
    return { pool, prepared, doubled }
  }

  it('is made once per connection', async () => {
    const { prepared, doubled } = await openOne()
    expect([await doubled(2), await doubled(3)]).toEqual([{ doubled: 4 }, { doubled: 6 }])
    expect(await prepared()).toEqual([{ name: double.preparedAs }])
  })
  it('runs without preparation after the connection lost it', async () => {
    const { pool, prepared, doubled } = await openOne()
    await doubled(1)
    await pool.query('deallocate all')
    expect([await doubled(2), await doubled(3)]).toEqual([{ doubled: 4 }, { doubled: 6 }])
    expect(await prepared()).toEqual([])
  })
  it('runs without preparation where another client has prepared it', async () => {
    const { pool, doubled } = await openOne()
    await pool.query(`prepare ${double.preparedAs} as select 1`)
    expect(await doubled(2)).toEqual({ doubled: 4 })
  })
})
