import pg from 'pg'
import { expect, it, onTestFinished } from 'vitest'
import {
  startPostgres,
  startStandby,
  type PostgresServer,
} from '../../../adapter-postgres/test/postgres-server.mjs'
import { openWire } from '../../../adapter-postgres/test/wire.js'
import { realServer, until, type RealServer } from './real-server.js'

/** Autovacuum would remove files while the standby copies them. */
const SETTINGS = ['fsync=off', 'autovacuum=off']
const CALLERS = 16
const AGENTS = "export default { echo: ({ message }) => 'echo ' + message }"
const agent = {
  name: 'echo',
  runtime: { kind: 'function', handler: 'echo' },
  desiredState: 'running',
}

async function query<Row extends pg.QueryResultRow>(
  { url }: Pick<PostgresServer, 'url'>,
  text: string,
): Promise<Row[]> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query<Row>(text)).rows
  } finally {
    await client.end()
  }
}

/** A primary that waits with each commit for its standby. */
async function primaryWithStandby() {
  const primary = await startPostgres(SETTINGS)
  onTestFinished(primary.stop)
  const standby = await startStandby(primary, SETTINGS)
  onTestFinished(standby.stop)
  const isStreaming = async () =>
    (await query(primary, 'select from pg_stat_replication where state = $$streaming$$')).length > 0
  expect(await until(isStreaming)).toBe(true)
  await query(primary, "alter system set synchronous_standby_names = '*'")
  await query(primary, 'select pg_reload_conf()')
  const isSynchronous = async () =>
    (await query(primary, 'select from pg_stat_replication where sync_state = $$sync$$')).length > 0
  expect(await until(isSynchronous)).toBe(true)
  return { primary, standby }
}

/** Callers that send without a pause and repeat each refused send with its key. */
function callers(server: RealServer) {
  const stored: { readonly key: string; readonly messageId: string }[] = []
  const refused: { readonly status: number; readonly message: string }[] = []
  let isStopping = false

  async function call(caller: number): Promise<void> {
    for (let n = 0; !isStopping; n++) {
      const key = `${caller}-${n}`
      const headers = { 'idempotency-key': key }
      const body = { sessionId: key, message: key }
      for (;;) {
        const answer = await server.api('POST', '/v1/agents/echo/messages', body, headers)
        const { messageId, error } = (await answer.json()) as {
          readonly messageId: string
          readonly error?: { readonly message: string }
        }
        if (answer.ok) {
          stored.push({ key, messageId })
          break
        }
        refused.push({ status: answer.status, message: error?.message ?? '' })
        await new Promise((resolve) => setTimeout(resolve, 100))
      }
    }
  }
  const calls = Promise.all(Array.from({ length: CALLERS }, (_, caller) => call(caller)))
  return {
    stored,
    refused,
    stop: async () => {
      isStopping = true
      await calls
    },
  }
}

it('loses no send when the primary disappears and its synchronous standby takes over', async () => {
  const { primary, standby } = await primaryWithStandby()
  const wire = await openWire(primary.url)
  onTestFinished(wire.close)
  const [from, to] = [new URL(wire.url), new URL(standby.url)]
  const url = `postgres://postgres@${from.host},${to.host}/postgres?target_session_attrs=read-write`
  const env = {
    SERVICE_DATABASE_URL: url,
    SERVICE_RUN_LEASE_MS: '3000',
    // A caller that waits for an answer would send nothing when the primary disappears.
    SERVICE_SYNC_MESSAGE_TIMEOUT_MS: '0',
  }
  const server = await realServer({ env, agents: AGENTS })
  onTestFinished(server.dispose)
  expect((await server.api('POST', '/v1/agents', agent)).status).toBe(201)

  const load = callers(server)
  expect(await until(() => load.stored.length > 100)).toBe(true)
  wire.disappear()
  const silentAt = performance.now()
  const isUnconfirmed = () =>
    load.refused.some(({ message }) => message.includes('the message may be stored'))
  expect(await until(isUnconfirmed, 60_000)).toBe(true)
  const refusedMs = performance.now() - silentAt
  await query(standby, 'select pg_promote()')
  const writableAt = performance.now()
  const before = load.stored.length
  expect(await until(() => load.stored.length > before, 60_000)).toBe(true)
  const backMs = performance.now() - writableAt
  expect(await until(() => load.stored.length > before + 100, 60_000)).toBe(true)
  await load.stop()
  process.stdout.write(
    `failover: 503 after ${Math.round(refusedMs)} ms, sends ${Math.round(backMs)} ms after the ` +
      `promotion, ${load.stored.length} stored, ${load.refused.length} refused\n`,
  )

  expect(new Set(load.refused.map(({ status }) => status))).toEqual(new Set([503]))
  type Row = { readonly id: string; readonly message: string }
  const rows = await query<Row>(standby, 'select id, message from agent_messaging.messages')
  const found = new Map(rows.map(({ id, message }) => [message, id]))
  for (const { key, messageId } of load.stored) expect(found.get(key)).toBe(messageId)
  // Each refused send was repeated until it was stored, and no key made two messages.
  expect(rows).toHaveLength(load.stored.length)
  const open = async () =>
    (await query(standby, "select from agent_messaging.messages where state <> 'responded'")).length
  expect(await until(async () => (await open()) === 0, 60_000)).toBe(true)
}, 240_000)
