import { unwrap } from '@org/agent-messaging-testing'
import { execFile } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { openSqliteStorage, readSqliteTables } from '@org/agent-messaging-adapter-sqlite'
import {
  fillPostgres,
  openPostgresStorage,
  readPostgresSchema,
} from '@org/agent-messaging-adapter-postgres'
import Database from 'better-sqlite3'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { runWorkload } from '../../../testing/src/contract/workload.js'
import { testPostgres, type TestPostgres } from '../../../adapter-postgres/test/test-postgres.js'
import { realServer, until, type RealServer } from './real-server.js'
import { receiver } from './receiver.js'

const CLI = fileURLToPath(new URL('../../bin/agent-messaging.js', import.meta.url))
const run = promisify(execFile)

let postgres: TestPostgres
let folder: string
const opened: { dispose(): Promise<void> }[] = []
beforeAll(async () => {
  postgres = await testPostgres()
})
beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'agent-messaging-copy-'))
})
afterEach(async () => {
  for (const one of opened.splice(0).toReversed()) await one.dispose()
  await rm(folder, { recursive: true })
})
afterAll(() => postgres.close())

async function started(...options: Parameters<typeof realServer>): Promise<RealServer> {
  const server = await realServer(...options)
  opened.push(server)
  return server
}

const AGENTS =
  "export default { work: ({ message }) => message === 'never' ? new Promise(() => undefined) : 're: ' + message }"
const FIXED = "export default { work: ({ message }) => 're: ' + message }"

/** Everything that the API returns, except the state of the process. */
async function readAll({ api }: RealServer): Promise<readonly unknown[]> {
  const read = async (route: string): Promise<Record<string, unknown>> =>
    (await (await api('GET', route)).json()) as Record<string, unknown>
  const { data } = (await read('/v1/deliveries?limit=100')) as { data: readonly { id: string }[] }
  const { data: events } = (await read('/v1/events')) as { data: readonly { cursor: string }[] }
  const deliveries = await Promise.all(data.map(({ id }) => read(`/v1/deliveries/${id}`)))
  const lists = [
    '/v1/webhooks',
    '/v1/agents/worker/messages?limit=100',
    '/v1/agents/worker/sessions',
    '/v1/events',
    `/v1/events?after=${events[0]?.cursor}`,
  ]
  return [...deliveries, ...(await Promise.all(lists.map(read)))]
}

type Sent = { readonly messageId: string; readonly status: string }
const send = async (
  { api }: RealServer,
  sessionId: string,
  message: string,
  key: string,
  wait = 30,
): Promise<Sent> =>
  (await (
    await api(
      'POST',
      '/v1/agents/worker/messages',
      { sessionId, message },
      { 'idempotency-key': key, prefer: `wait=${wait}` },
    )
  ).json()) as Sent

describe('a server that moves to PostgreSQL', () => {
  it('keeps all data, finishes open work and accepts new messages', async () => {
    let isUp = false
    const hook = await receiver(() => (isUp ? 200 : 500))
    opened.push({ dispose: hook.close })
    const first = await started({ agents: AGENTS })
    const agent = {
      name: 'worker',
      runtime: { kind: 'function', handler: 'work' },
      desiredState: 'running',
    }
    await first.api('POST', '/v1/agents', agent)
    await first.api('POST', '/v1/webhooks', {
      url: hook.url,
      events: ['*'],
      headers: { 'X-Mine': 'and secret' },
    })
    const answered = await Promise.all(
      ['a', 'b', 'c'].map((id) => send(first, id, `hi ${id} 😀`, id)),
    )
    expect(answered.map(({ status }) => status)).toEqual(['responded', 'responded', 'responded'])
    expect(await until(() => hook.received.length >= 3)).toBe(true)
    const open = await send(first, 'c', 'never', 'open', 2)
    expect(open.status).toBe('pending')
    await first.kill('SIGKILL')

    const onFile = await started({ beside: first, args: ['--no-worker'] })
    const before = await readAll(onFile)
    await onFile.kill('SIGTERM')
    const url = await postgres.database()
    const env = {
      PATH: process.env['PATH'] ?? '',
      SERVICE_DATABASE_URL: `file:${path.join(first.folder, 'service.db')}`,
    }
    const { stdout } = await run(process.execPath, [CLI, 'copy', url], { env })
    expect(stdout).toContain('1 projects, 4 messages, 3 deliveries')
    const onPostgres = await started({
      beside: first,
      args: ['--no-worker'],
      env: { SERVICE_DATABASE_URL: url },
    })
    expect(await readAll(onPostgres)).toEqual(before)
    await onPostgres.kill('SIGTERM')

    isUp = true
    const failed = hook.received.splice(0)
    const moved = await started({
      beside: first,
      agents: FIXED,
      env: { SERVICE_DATABASE_URL: url },
    })
    expect(await send(moved, 'a', 'hi a 😀', 'a')).toEqual(answered[0])
    expect(
      await until(async () => (await send(moved, 'c', 'never', 'open', 2)).status === 'responded'),
    ).toBe(true)
    expect((await send(moved, 'c', 'new', 'new')).status).toBe('responded')
    const idOf = ({ headers }: (typeof failed)[number]) => String(headers['x-service-delivery'])
    const { data } = (await (await moved.api('GET', '/v1/deliveries?status=pending')).json()) as {
      data: readonly { id: string }[]
    }
    // The next attempt by schedule can be minutes away.
    for (const { id } of data) await moved.api('POST', `/v1/deliveries/${id}/redeliver`)
    expect(await until(() => new Set(hook.received.map(idOf)).size === 5)).toBe(true)
    const bodies = new Map(failed.map((one) => [idOf(one), one.body]))
    expect(bodies.size).toBe(3)
    for (const one of hook.received) expect(one.body).toBe(bodies.get(idOf(one)) ?? one.body)
    expect(
      [...bodies.keys()].filter((id) => !hook.received.some((one) => idOf(one) === id)),
    ).toEqual([])
    expect(hook.received.every(({ headers }) => headers['x-mine'] === 'and secret')).toBe(true)
  })
})

/** Makes rows comparable: only PostgreSQL returns booleans, and large numbers as text. */
const asText = (row: readonly unknown[]): string =>
  JSON.stringify(
    row.map((value) =>
      typeof value === 'number' || typeof value === 'boolean' ? String(Number(value)) : value,
    ),
  )

describe('the tables of a SQLite file', () => {
  const file = () => path.join(folder, 'service.db')
  async function worked(): Promise<void> {
    const storage = openSqliteStorage({ path: file() })
    await runWorkload({ storages: [storage], seed: 1, rounds: 60 })
    unwrap(await storage.credentials.replaceSetting('long', undefined, 'x'.repeat(9_000_000)))
    await storage.close()
    const db = new Database(file())
    db.exec(`insert into count_entries (counts) values ('[]');
      insert into counts (project_id, subject, step_ms, begins_at, subject_id, counts)
      values ('a project', 'agent', 3600000, 7200000, 'an agent', '{"messages":1}');
      update counting set people_until = 1700000000000`)
    db.close()
  }

  it('are equal on PostgreSQL, row for row', async () => {
    await worked()
    const pool = await postgres.pool()
    const connectionString = String(pool.options.connectionString)
    await readSqliteTables({
      path: file(),
      work: async (tables) => {
        const rows = tables.reduce((sum, { count }) => sum + count, 0)
        expect(await fillPostgres({ connectionString, tables })).toBe(rows)
        for (const { name, columns, count, rows } of tables) {
          const there = await pool.query({
            text: `select ${columns.join(', ')} from agent_messaging.${name}`,
            rowMode: 'array',
          })
          expect(there.rows.map(asText).sort(), name).toEqual([...rows].map(asText).sort())
          expect(there.rows, name).toHaveLength(count)
          if (
            [
              'messages',
              'sessions',
              'events',
              'deliveries',
              'attempts',
              'count_entries',
              'counts',
            ].includes(name)
          )
            expect(count, name).toBeGreaterThan(0)
        }
      },
    })
    await pool.end()
  })

  it('are not copied in part, so an interrupted copy can be repeated', async () => {
    await worked()
    const connectionString = await postgres.database()
    const cut = new AbortController()
    const fill = (signal: AbortSignal) =>
      readSqliteTables({
        path: file(),
        work: (tables) =>
          fillPostgres({
            connectionString,
            tables,
            signal,
            onProgress: (rows) => void (rows > 100 && cut.abort('enough')),
          }),
      })
    await expect(fill(cut.signal)).rejects.toBe('enough')
    expect(await fill(new AbortController().signal)).toBeGreaterThan(100)
  })

  const copyTables = async (): Promise<unknown> => {
    const connectionString = await postgres.database()
    return readSqliteTables({
      path: file(),
      work: (tables) => fillPostgres({ connectionString, tables }),
    })
  }

  it('are named when PostgreSQL rejects a row, and the file when it is damaged', async () => {
    await worked()
    const bytes = readFileSync(file())
    const full = Buffer.alloc(4_092, 'x')
    const pages = Array.from({ length: bytes.length / 4_096 }, (_, n) => n * 4_096)
    const long = pages.filter((page) => bytes.subarray(page + 4, page + 4_096).equals(full))
    const place = long[40] ?? expect.fail('the long value has too few pages')
    writeFileSync(file(), bytes.fill(0xff, place, place + 4)) // the pointer to the next page
    await expect(copyTables()).rejects.toThrow(/service\.db: SQLite reports damage/)
    for (const name of ['service.db', 'service.db-wal', 'service.db-shm'])
      await rm(path.join(folder, name), { force: true })
    const storage = openSqliteStorage({ path: file() })
    unwrap(await storage.credentials.replaceSetting('of another program', undefined, 'a\0b'))
    await storage.close()
    await expect(copyTables()).rejects.toThrow(
      /^postgres:.+: nothing was copied, because PostgreSQL refused a row of settings \(22021: invalid byte sequence/,
    )
  })

  it('are locked during the copy, and so is the target', async () => {
    await worked()
    const pool = await postgres.pool()
    const connectionString = String(pool.options.connectionString)
    await readSqliteTables({
      path: file(),
      work: async (tables) => {
        await expect(
          readSqliteTables({ path: file(), work: async () => undefined }),
        ).rejects.toThrow('is in use by another process')
        const storage = await openPostgresStorage({ connectionString })
        const client = await pool.connect()
        await client.query("begin; insert into agent_messaging.settings values ('a', 'b')")
        await expect(fillPostgres({ connectionString, tables })).rejects.toThrow(
          'is in use; stop the processes that use it first.',
        )
        await client.query('commit')
        await expect(fillPostgres({ connectionString, tables })).rejects.toThrow(
          'contains data of this service already',
        )
        client.release()
        await storage.close()
      },
    })
    await pool.end()
  })
})

describe('copy', () => {
  const copy = (to: string, from: string, env: Record<string, string>) =>
    run(process.execPath, [CLI, 'copy', to], {
      cwd: folder,
      env: { SERVICE_DATABASE_URL: from, ...env },
    })
  const failure = (to: string, from = `file:${path.join(folder, 'service.db')}`, env = {}) =>
    copy(to, from, env).then(
      () => undefined,
      (error: { code: number; stderr: string }) => [error.code, error.stderr],
    )

  it('explains a missing file, a wrong URL, a running server and an unreachable target', async () => {
    const nowhere = 'postgres://me:hush@127.0.0.1:1/db'
    expect(await failure(nowhere)).toEqual([
      1,
      expect.stringMatching(/service\.db: there is no such file\.\n$/),
    ])
    const server = await started()
    const from = `file:${path.join(server.folder, 'service.db')}`
    expect(await failure(nowhere, from)).toEqual([
      1,
      expect.stringMatching(/is in use by another process; stop that process first\.\n$/),
    ])
    await server.kill('SIGTERM')
    const key = { SERVICE_MASTER_KEY: Buffer.alloc(32, 2).toString('base64') }
    const emptyUrl = await postgres.database()
    expect(await failure(emptyUrl, from, key)).toEqual([
      2,
      expect.stringMatching(/service\.db: the master key does not match this database/),
    ])
    expect((await readPostgresSchema({ connectionString: emptyUrl })).version).toBe(0)
    expect(await failure(nowhere, from)).toEqual([
      1,
      expect.stringMatching(/^postgres:\/\/127\.0\.0\.1:1\/db: no server listens there/),
    ])
    expect(await failure('messages', from)).toEqual([
      2,
      'the target of the copy must be a postgres:// URL\n',
    ])
    expect(await failure(nowhere, nowhere)).toEqual([
      2,
      expect.stringContaining('must be a SQLite file'),
    ])
  })
})
