import { unwrap } from '@org/agent-messaging-testing'
import { systemClock } from '@org/agent-messaging-core/node'
import type { Clock } from '@org/agent-messaging-core/runtime'
import { openPostgresStorage } from '@org/agent-messaging-adapter-postgres'
import type pg from 'pg'
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest'
import { testPostgres, type TestPostgres } from '../../test/test-postgres.js'
import { DatabaseClock } from './database-clock.js'

let postgres: TestPostgres
beforeAll(async () => {
  postgres = await testPostgres()
})
afterAll(() => postgres.close())

const MINUTE = 60_000

/** The system's clock with another time of day. */
function shiftedClock(byMs: number): Clock & { byMs: number } {
  const clock = { ...systemClock, byMs, now: () => Date.now() + clock.byMs }
  return clock
}

/** The clock of an open storage, on a machine whose time of day is off. The database's is right. */
async function scene(byMs: number) {
  const pool = await postgres.pool()
  const skews: number[] = []
  const base = shiftedClock(byMs)
  const storage = await openPostgresStorage({
    pool,
    clock: base,
    onSkew: (skew) => skews.push(skew),
  })
  onTestFinished(async () => {
    await storage.close()
    await pool.end()
  })
  return { pool, storage, base, skews, clock: storage.clock }
}

const isNear = (at: number, expected: number): boolean => Math.abs(at - expected) < 1_000

it.each([0, MINUTE, -MINUTE])(
  'the clock has the time of the database on a machine that is off by %d ms',
  async (byMs) => {
    const { clock, skews } = await scene(byMs)
    expect(isNear(clock.now(), Date.now())).toBe(true)
    expect(Number.isInteger(clock.now())).toBe(true)
    expect(skews.map((skew) => isNear(skew, -byMs))).toEqual(byMs === 0 ? [] : [true])
  },
)

it('a jump of the machine changes nothing, and its new difference is reported', async () => {
  const { clock, base, skews, pool } = await scene(0)
  base.byMs = 60 * MINUTE
  expect(isNear(clock.now(), Date.now())).toBe(true)
  await expect.poll(() => skews.map((skew) => isNear(skew, -60 * MINUTE))).toEqual([true])
  expect(isNear(clock.now(), Date.now())).toBe(true)
  expect(pool.totalCount).toBeGreaterThan(0)
})

it('a pause of the whole machine, which elapsed time does not count, is made up for', async () => {
  const { base, pool } = await scene(0)
  let pausedMs = 0
  const paused = { ...base, elapsed: () => performance.now() - pausedMs }
  const clock = await DatabaseClock.start(pool, { base: paused, onSkew: () => undefined })
  onTestFinished(() => clock.stop())
  pausedMs = MINUTE
  await expect.poll(() => isNear(clock.now(), Date.now())).toBe(true)
})

it('a pause is made up for as soon as the database answers again', async () => {
  const { base, pool } = await scene(0)
  let pausedMs = 0
  const paused = { ...base, elapsed: () => performance.now() - pausedMs }
  let [tries, isAway] = [0, false]
  const connect = async (): Promise<pg.PoolClient> => {
    tries++
    if (isAway) throw new Error('away')
    return pool.connect()
  }
  const unsteady = { connect, query: pool.query.bind(pool) } as pg.Pool
  const clock = await DatabaseClock.start(unsteady, { base: paused, onSkew: () => undefined })
  onTestFinished(() => clock.stop())
  isAway = true
  pausedMs = MINUTE
  const before = tries
  for (let reading = 0; reading < 100; reading++) {
    clock.now()
    await new Promise((resolve) => setImmediate(resolve))
  }
  expect(tries - before).toBe(1)
  isAway = false
  await expect.poll(() => isNear(clock.now(), Date.now())).toBe(true)
})

it('a measurement tells the other processes that time passes', async () => {
  const before = Date.now()
  const { pool } = await scene(0)
  const { rows } = await pool.query<{ value: string }>(
    "select value from agent_messaging.settings where name = 'clock_seen'",
  )
  const seenAt = Number(rows[0]?.value)
  expect(seenAt).toBeGreaterThan(before - 1_000)
  expect(seenAt).toBeLessThan(Date.now() + 1_000)
})

it('times do not move for a process that slept while others lived', async () => {
  const { storage } = await scene(0)
  const now = Date.now()
  const moved = async (from: number, to: number): Promise<boolean> =>
    unwrap(await storage.moveTimes({ from, to, lastMove: 0 })).hasMoved
  expect(await moved(now - 60 * MINUTE, now)).toBe(false)
  expect(await moved(now, now + 60 * MINUTE)).toBe(true)
  expect(await moved(now + MINUTE, now + 61 * MINUTE)).toBe(false)
})

it('a new process learns when the storage was last seen', async () => {
  const { pool } = await scene(0)
  const later = Date.now() + 60 * MINUTE
  await pool.query(
    `update agent_messaging.settings set value = '${later}' where name = 'clock_seen'`,
  )
  const storage = await openPostgresStorage({ pool })
  onTestFinished(() => storage.close())
  expect(storage.lastWriteAt).toBe(later)
})

it('a database that answers too slowly refuses the start', async () => {
  const { pool } = await scene(0)
  let elapsed = 0
  const slow = { ...systemClock, elapsed: () => (elapsed += 2_000) }
  const started = DatabaseClock.start(pool, { base: slow, onSkew: () => undefined })
  await expect(started).rejects.toThrow('the database answers too slowly')
})
