import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import pg from 'pg'
import { afterEach, expect, it, onTestFinished, vi } from 'vitest'
import { startPostgresIn } from '../../../adapter-postgres/test/postgres-server.mjs'
import { realServer, until, type RealServer } from './real-server.js'
import { receiver } from './receiver.js'

const USERS = ['process_1', 'process_2', 'process_3', 'process_4']
const CLIENTS = 40
const MESSAGES = 2_000
/** Each wait of more than a millisecond is a line of the log, with the pid and the user before it. */
const LOG_WAITS = [
  'log_lock_waits=on',
  'deadlock_timeout=1ms',
  'log_connections=on',
  'log_line_prefix=%p %u ',
  'logging_collector=on',
  'log_directory=log',
  'log_filename=server.log',
]
/** For a busy machine: each failed attempt changes the health of the webhook, in its row. */
const LONG_DEADLINES = { SERVICE_DELIVERY_TIMEOUT_MS: '60000', SERVICE_DELIVERY_LEASE_MS: '120000' }
/** A wait for a row. Other waits are for the end of a file that grows, and for `NOTIFY`. */
const ROW_WAIT =
  /^(\d+) .*still waiting for \w+ on (?:transaction|tuple|speculative token) .*\n.*holding the locks?: ([\d, ]+)(?:.*\n\d+ .*CONTEXT: {2}(.*))?/gm

/**
 * A PostgreSQL whose log tells which process waits for which one. Each process has its own user.
 */
async function loggingPostgres() {
  const folder = await mkdtemp(path.join(tmpdir(), 'agent-messaging-waits-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const { url, data, stop } = await startPostgresIn(folder, LOG_WAITS)
  onTestFinished(stop)
  const admin = new pg.Client({ connectionString: url })
  await admin.connect()
  onTestFinished(() => admin.end())
  for (const user of USERS) await admin.query(`create role ${user} superuser login`)
  const log = () => readFile(path.join(data, 'log', 'server.log'), 'utf8')

  /**
   * Runs the work and returns the rows that one process waited for and another one had locked. A
   * process can wait for itself: its lease keeper extends the lease of a run that ends.
   */
  async function waitsDuring(work: () => Promise<void>): Promise<string[]> {
    const { length } = await log()
    await work()
    const lines = await log()
    const users = new Map(
      Array.from(lines.matchAll(/^(\d+) (process_\d) /gm), ([, pid, user]) => [pid, user]),
    )
    const waits = lines.slice(length).matchAll(ROW_WAIT)
    return Array.from(waits).flatMap(([, pid, holders = '', place = 'unknown place']) => {
      const others = holders.split(', ').filter((other) => users.get(other) !== users.get(pid))
      return others.length > 0 ? [place] : []
    })
  }

  return { url, query: (sql: string) => admin.query(sql), waitsDuring }
}

/** Starts a process for each user, with an agent and a webhook of one project. */
async function fourServers(databaseUrl: string, hookUrl: string): Promise<RealServer[]> {
  const servers: RealServer[] = []
  for (const username of USERS) {
    const { href } = Object.assign(new URL(databaseUrl), { username })
    const agents = 'export default { echo: ({ message }) => message }'
    const env = { ...LONG_DEADLINES, SERVICE_DATABASE_URL: href }
    const server = await realServer({ agents, env })
    onTestFinished(server.dispose)
    servers.push(server)
  }
  const agent = { name: 'echo', runtime: { kind: 'function', handler: 'echo' } }
  await servers[0]?.api('POST', '/v1/agents', { ...agent, desiredState: 'running' })
  await servers[0]?.api('POST', '/v1/webhooks', { url: hookUrl, events: ['message.responded'] })
  return servers
}

afterEach(() => void vi.unstubAllEnvs())

it.each(['15', '18'])(
  'on PostgreSQL %s, four processes with one project and one webhook never wait for one row',
  { timeout: 240_000 },
  async (version) => {
    vi.stubEnv('TEST_POSTGRES_VERSION', version)
    const postgres = await loggingPostgres()
    const hook = await receiver()
    onTestFinished(hook.close)
    const servers = await fourServers(postgres.url, hook.url)
    const sendAndDeliver = (count: number) => async () => {
      const before = hook.received.length
      const send = (n: number) =>
        servers[n % USERS.length]?.api('POST', '/v1/agents/echo/messages', {
          sessionId: `session ${before + n}`,
          message: 'hi',
        })
      const client = async (first: number) => {
        for (let n = first; n < count; n += CLIENTS) expect((await send(n))?.status).toBe(200)
      }
      await Promise.all(Array.from({ length: CLIENTS }, (_, n) => client(n)))
      expect(await until(() => hook.received.length >= before + count)).toBe(true)
    }
    // The first attempts store the names of their headers, once for all processes.
    await sendAndDeliver(CLIENTS)()

    expect(await postgres.waitsDuring(sendAndDeliver(MESSAGES))).toEqual([])

    await postgres.query(`
      create table shared (count bigint);
      insert into shared values (0);
      create function add_to_shared() returns trigger language plpgsql as
        'begin update shared set count = count + 1; perform pg_sleep(0.02); return null; end';
      create trigger shared after insert on agent_messaging.count_entries
        for each row execute function add_to_shared()`)
    const waits = await postgres.waitsDuring(sendAndDeliver(MESSAGES / 10))
    expect(waits).toContainEqual(expect.stringContaining('"shared"'))
  },
)
