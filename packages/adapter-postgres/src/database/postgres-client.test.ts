import { once } from 'node:events'
import { createServer, type AddressInfo } from 'node:net'
import pg from 'pg'
import { afterAll, beforeAll, expect, it, onTestFinished, vi } from 'vitest'
import { testPostgres, type TestPostgres } from '../../test/test-postgres.js'
import { openWire } from '../../test/wire.js'
import { loadDriver } from './driver.js'
import { fillPostgres } from '../maintenance/fill.js'
import { openPostgresStorage } from '../open.js'
import { connectionTo } from './postgres-url.js'
import { readPostgresSchema } from '../schema/migrate.js'
import { postgresSignal } from './signal.js'

let postgres: TestPostgres
beforeAll(async () => {
  postgres = await testPostgres()
})
afterAll(() => postgres.close())

/** The address of a host that accepts connections and never answers. */
async function silentHost(): Promise<string> {
  const server = createServer((socket) => socket.on('error', () => undefined)).listen(
    0,
    '127.0.0.1',
  )
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  return `127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** The URL with more hosts before its own. */
const after = (hosts: readonly string[], url: string, query = '') =>
  url.replace(
    /@([^/]*)(\/.*)$/,
    (_, own: string, path: string) => `@${[...hosts, own].join(',')}${path}${query}`,
  )

async function isHere(connectionString: string): Promise<boolean> {
  const { Client } = await loadDriver()
  const client = new Client(connectionTo(connectionString))
  await client.connect()
  const { rows } = await client.query('select 1 as one')
  await client.end()
  return rows.length === 1
}

const projects = { name: 'projects', columns: ['id'], rows: [] }
const WRITES = '?target_session_attrs=read-write'

it('connects to the first host that answers, and to IPv6', async () => {
  const url = await postgres.database()
  const hosts = ['127.0.0.1:1', await silentHost()]
  expect(await isHere(after(hosts, url))).toBe(true)
  const wire = await openWire(url, '::1')
  onTestFinished(() => wire.close())
  expect(new URL(wire.url).hostname).toBe('[::1]')
  expect(await isHere(wire.url)).toBe(true)
  expect(await isHere(after(['[::1]:1'], wire.url, WRITES))).toBe(true)
})

it('refuses a host that accepts no writes', async () => {
  const url = await postgres.database()
  const { pathname } = new URL(url)
  const admin = new pg.Client({ connectionString: url })
  await admin.connect()
  await admin.query(`alter database ${pathname.slice(1)} set default_transaction_read_only = on`)
  await admin.end()
  expect(await isHere(after(['127.0.0.1:1'], url))).toBe(true)
  await expect(isHere(after(['127.0.0.1:1'], url, WRITES))).rejects.toThrow(
    'no host accepts writes',
  )
  const { port } = new URL(url)
  await expect(
    readPostgresSchema({ connectionString: after(['127.0.0.1:1'], url, WRITES) }),
  ).rejects.toThrow(`postgres://127.0.0.1:1,127.0.0.1:${port}${pathname}: accepts no writes`)
})

it('gives no recovery the number of one that was purged before a copy', async () => {
  const connectionString = await postgres.database()
  const columns = {
    id: 'd',
    project_id: 'p',
    webhook_seq: 1,
    receiver_seq: 1,
    event_seq: 1,
    state: 'delivered',
    step: 0,
    attempt_count: 1,
    lease: 1,
    created_at: 1,
    recovery_seq: 7,
  }
  const deliveries = {
    name: 'deliveries',
    columns: ['seq', ...Object.keys(columns)],
    rows: [[1, ...Object.values(columns)]],
  }
  const recoveries = { name: 'recoveries', columns: ['seq'], rows: [] }
  expect(await fillPostgres({ connectionString, tables: [deliveries, recoveries] })).toBe(1)
  const client = new pg.Client({ connectionString })
  await client.connect()
  const { rows } = await client.query(
    "select nextval(pg_get_serial_sequence('agent_messaging.recoveries', 'seq')) as seq",
  )
  await client.end()
  expect(rows).toEqual([{ seq: '8' }])
})

it('serves the storage, the signal, the schema and a copy', async () => {
  const connectionString = after([await silentHost()], await postgres.database(), WRITES)
  expect(await fillPostgres({ connectionString, tables: [projects] })).toBe(0)
  const { version, newest } = await readPostgresSchema({ connectionString })
  expect(version).toBe(newest)
  const storage = await openPostgresStorage({ connectionString })
  const [one, other] = [postgresSignal({ connectionString }), postgresSignal({ connectionString })]
  onTestFinished(async () => {
    await one.close()
    await other.close()
    await storage.close()
  })
  expect((await storage.ping()).ok).toBe(true)
  const heard = vi.fn<() => void>()
  other.onAnnounced(heard)
  await vi.waitFor(
    () => {
      one.announce({ kind: 'deliveries' })
      expect(heard).toHaveBeenCalled()
    },
    { timeout: 60_000, interval: 100 },
  )
})

it('rejects another target when the storage opens', async () => {
  const connectionString = 'postgres://me:hush@a,b/db?target_session_attrs=standby'
  const refusal = 'target_session_attrs is "standby"; use any or read-write.'
  await expect(openPostgresStorage({ connectionString })).rejects.toThrow(refusal)
  await expect(readPostgresSchema({ connectionString })).rejects.toThrow(refusal)
  expect(() => postgresSignal({ connectionString })).toThrow(refusal)
})
