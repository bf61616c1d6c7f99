import { setImmediate as turn } from 'node:timers/promises'
import {
  describeChunkRelayContract,
  describeWorkSignalContract,
} from '@org/agent-messaging-testing/contract'
import { fakeIds } from '@org/agent-messaging-testing'
import type { Message } from '@org/agent-messaging-core'
import pg from 'pg'
import { afterAll, afterEach, beforeAll, expect, it, onTestFinished, vi } from 'vitest'
import { passwordServer } from '../../test/password-server.js'
import { testPostgres, type TestPostgres } from '../../test/test-postgres.js'
import { openWire } from '../../test/wire.js'
import { postgresSignal, type PostgresSignal } from '../index.js'

let postgres: TestPostgres
let connectionString: string
const opened: PostgresSignal[] = []
beforeAll(async () => {
  postgres = await testPostgres()
  connectionString = await postgres.database()
})
afterEach(async () => {
  for (const signal of opened.splice(0)) await signal.close()
})
afterAll(() => postgres.close())

const ids = fakeIds()
const message = (): Message => ({ id: ids.next() }) as Message

function open(onError?: (reason: string) => void): PostgresSignal {
  const signal = postgresSignal({ connectionString, ...(onError && { onError }) })
  opened.push(signal)
  return signal
}

/** Repeats a wake-up until the listener hears it, because one is lost while the signal connects. */
async function heardBy(from: PostgresSignal, to: PostgresSignal): Promise<unknown> {
  const told = message()
  const heard = vi.fn<(message: Message | undefined) => void>()
  const stop = to.listen(told.id, heard)
  await vi.waitFor(
    () => {
      from.notify(told)
      expect(heard).toHaveBeenCalled()
    },
    { timeout: 60_000, interval: 50 },
  )
  stop()
  return heard.mock.calls[0]?.[0]
}

it('a notification wakes listeners in another process, without the message', async () => {
  expect(await heardBy(open(), open())).toBeUndefined()
})

it('a notification wakes local listeners at once, with the message, until they stop listening', () => {
  const signal = open()
  const [told, heard] = [message(), vi.fn<() => void>()]
  const stop = signal.listen(told.id, heard)
  signal.notify(told)
  expect(heard).toHaveBeenCalledExactlyOnceWith(told)
  stop()
  signal.notify(told)
  expect(heard).toHaveBeenCalledOnce()
})

it('a thousand notifications at once wake all their listeners', async () => {
  const [from, to] = [open(), open()]
  await heardBy(from, to)
  const told = Array.from({ length: 1_000 }, message)
  const woken = new Set<string>()
  for (const { id } of told) to.listen(id, () => woken.add(id))
  for (const one of told) from.notify(one)
  await vi.waitFor(() => expect(woken.size).toBe(1_000), { timeout: 60_000 })
})

/** A client that hears every NOTIFY, but does not count as another process. */
async function eavesdropper(connectionString: string) {
  const client = new pg.Client({ connectionString })
  onTestFinished(() => client.end())
  const heard: string[] = []
  client.on('notification', ({ payload = '' }) => heard.push(payload))
  await client.connect()
  await client.query('listen agent_messaging_final')
  return { client, heard }
}

/** Waits until a signal has looked for other processes. */
async function hasLooked(client: pg.Client): Promise<void> {
  const looked = `select 1 from pg_stat_activity where application_name = 'agent_messaging_signal'
    and query like '%areThere%' and state = 'idle' and datname = current_database()`
  await expect.poll(async () => (await client.query(looked)).rowCount).toBe(1)
  await turn() // The signal reads the answer at the latest in the next turn of the event loop.
  await turn()
}

it('a process sends nothing while no other process listens', async () => {
  // In another database, no connection of an earlier test is still about to end.
  const own = await postgres.database()
  const { client, heard } = await eavesdropper(own)
  const alone = postgresSignal({ connectionString: own })
  opened.push(alone)
  await hasLooked(client)
  alone.notify(message())
  alone.announce({ kind: 'deliveries' })
  await alone.close()
  await client.query('select 1')
  expect(heard).toEqual(['']) // the greeting
})

it('processes find each other if their connection strings name the connections', async () => {
  const named = new URL(await postgres.database())
  named.searchParams.set('application_name', 'ours')
  const { client } = await eavesdropper(named.href)
  const first = postgresSignal({ connectionString: named.href })
  opened.push(first)
  await hasLooked(client)
  const second = postgresSignal({ connectionString: named.href })
  opened.push(second)
  expect(await heardBy(first, second)).toBeUndefined()
  expect(await heardBy(second, first)).toBeUndefined()
})

it('a process without the right to look for others sends', async () => {
  const own = await postgres.database()
  const { client, heard } = await eavesdropper(own)
  const role = `blind_${new URL(own).pathname.slice(1)}`
  await client.query(
    `revoke select on pg_stat_activity from public; create role ${role} login password 'x'`,
  )
  onTestFinished(async () => void (await client.query(`drop role ${role}`)))
  const blind = Object.assign(new URL(own), { username: role, password: 'x' })
  const signal = postgresSignal({ connectionString: blind.href })
  opened.push(signal)
  const told = message()
  await expect
    .poll(() => {
      signal.notify(told)
      return heard.join()
    })
    .toContain(told.id)
})

it('a process that was alone hears of a process that connects, and sends again', async () => {
  const { client } = await eavesdropper(connectionString)
  const first = open()
  await hasLooked(client)
  const second = open()
  expect(await heardBy(first, second)).toBeUndefined()
  expect(await heardBy(second, first)).toBeUndefined()
})

describeWorkSignalContract('NOTIFY', async () => {
  const [from, to] = [open(), open()]
  return { from, to, close: async () => undefined }
})

it('a close sends waiting notifications', async () => {
  const [from, to] = [open(), open()]
  await heardBy(from, to)
  const [told, heard] = [message(), vi.fn<() => void>()]
  to.listen(told.id, heard)
  from.notify(told)
  await from.close()
  await vi.waitFor(() => expect(heard).toHaveBeenCalled(), { timeout: 60_000 })
})

it('the signal reconnects after the server closed its connections', async () => {
  // In another database, no connection of an earlier test is still about to end.
  const own = await postgres.database()
  const [from, to] = [
    postgresSignal({ connectionString: own }),
    postgresSignal({ connectionString: own }),
  ]
  opened.push(from, to)
  await heardBy(from, to)
  const admin = new pg.Client({ connectionString: own })
  await admin.connect()
  const { rowCount } = await admin.query(
    "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and application_name = 'agent_messaging_signal'",
  )
  await admin.end()
  expect(rowCount).toBe(2)
  expect(await heardBy(from, to)).toBeUndefined()
})

it('a silent connection is replaced, although nothing is sent', async () => {
  const wire = await openWire(await postgres.database())
  onTestFinished(wire.close)
  const signal = postgresSignal({ connectionString: wire.url })
  onTestFinished(() => signal.close())
  const listening = async () => {
    const sql = "select pid from pg_stat_activity where application_name = 'agent_messaging_signal'"
    const client = new pg.Client({ connectionString: wire.url })
    await client.connect()
    const { rows } = await client.query(`${sql} and datname = current_database()`)
    await client.end()
    return rows.map(({ pid }) => String(pid))
  }
  await vi.waitFor(async () => expect(await listening()).toHaveLength(1), { timeout: 60_000 })
  const [first = ''] = await listening()
  wire.silence()
  const others = async () => (await listening()).filter((pid) => pid !== first)
  await vi.waitFor(async () => expect(await others()).toHaveLength(1), { timeout: 60_000 })
})

it('an outage is reported once, and the signal can be closed', async () => {
  const reasons: string[] = []
  const signal = postgresSignal({
    connectionString: 'postgres://me:hunter2@127.0.0.1:1/app',
    onError: (reason) => reasons.push(reason),
  })
  await vi.waitFor(() => expect(reasons).toHaveLength(1), { timeout: 60_000 })
  signal.notify(message())
  await signal.close()
  expect(reasons).toEqual([expect.stringContaining('ECONNREFUSED')])
  expect(reasons[0]).not.toContain('hunter2')
})

it.each([
  ['text, which pg hides from copies of the options', 'of the pool'],
  ['function', async () => 'of the pool'],
])('the signal connects with the password of a pool, a %s', async (_, password) => {
  const { pool, shown } = await passwordServer(password)
  opened.push(postgresSignal({ pool }))
  await expect.poll(() => shown[0], { timeout: 60_000 }).toBe('of the pool')
})

describeChunkRelayContract('the signal between processes', async () => {
  const [from, to] = [open(), open()]
  return { from, to, close: async () => undefined }
})
