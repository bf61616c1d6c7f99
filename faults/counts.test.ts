import path from 'node:path'
import { createDice, type Dice } from '@org/agent-messaging-testing'
import { expect, it, onTestFinished } from 'vitest'
import { testPostgres } from '../packages/adapter-postgres/test/test-postgres.js'
import {
  API_KEY,
  realServer,
  until,
  type RealServer,
} from '../packages/server/test/e2e/real-server.js'
import { receiver } from '../packages/server/test/e2e/receiver.js'
import { wrongCounts } from './checker/counts.js'
import { factsOfTables } from './checker/facts-of-tables.js'
import { servedCounts } from './checker/served-counts.js'
import { openTables } from './harness/tables.js'

/** An even number. All 20,000 take minutes. */
const MESSAGES = Number(process.env.COUNTED_MESSAGES ?? 4_000)
const CLIENTS = 24
const SESSIONS = 300
const KILLS = 8
/** A kill follows each of these many messages. */
const KILL_EVERY = Math.floor(MESSAGES / KILLS)
const TIMEOUT_MS = 900_000
const SETTINGS = {
  SERVICE_RUN_LEASE_MS: '2000',
  SERVICE_DELIVERY_TIMEOUT_MS: '5000',
  SERVICE_DELIVERY_LEASE_MS: '10000',
  SERVICE_WEBHOOK_RETRY_SCHEDULE: '100ms,200ms',
  SERVICE_LOG_LEVEL: 'error',
}
const NAMES = ['support', 'sales']
/** A tenth of the runs fails. */
const AGENTS = `
  const answer = ({ message, reportUsage }) => {
    reportUsage({ inputTokens: message.length, outputTokens: 3 })
    if (Math.random() < 0.1) throw new Error('no')
    return 're: ' + message
  }
  export default { answer }`

type Scene = { readonly servers: readonly RealServer[]; readonly databaseUrl: string }
type Options = NonNullable<Parameters<typeof realServer>[0]>

async function serverWith(options: Options): Promise<RealServer> {
  const server = await realServer({ agents: AGENTS, ...options })
  onTestFinished(server.dispose)
  return server
}

const scenes = {
  SQLite: async (): Promise<Scene> => {
    const one = await serverWith({ env: SETTINGS })
    const other = await serverWith({ env: SETTINGS, beside: one })
    return { servers: [one, other], databaseUrl: `file:${path.join(one.folder, 'service.db')}` }
  },
  PostgreSQL: async (): Promise<Scene> => {
    const postgres = await testPostgres()
    onTestFinished(() => postgres.close())
    const databaseUrl = await postgres.database()
    const env = { ...SETTINGS, SERVICE_DATABASE_URL: databaseUrl }
    return { servers: [await serverWith({ env }), await serverWith({ env })], databaseUrl }
  },
}

/** Sends a request to one of the servers until one answers. */
function clientOf(servers: readonly RealServer[], dice: Dice) {
  return async <T>(method: string, route: string, body?: object, key?: string): Promise<T> => {
    for (;;) {
      const response = await fetch(dice.oneOf(servers).url + route, {
        method,
        headers: {
          authorization: `Bearer ${API_KEY}`,
          'content-type': 'application/json',
          ...(key !== undefined && { 'idempotency-key': key }),
        },
        ...(body && { body: JSON.stringify(body) }),
        signal: AbortSignal.timeout(30_000),
      }).catch(() => undefined)
      const text = await response?.text().catch(() => undefined)
      if (response && response.status < 500 && text !== undefined) return JSON.parse(text) as T
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
  }
}
type Send = ReturnType<typeof clientOf>
type Row = { readonly id: string }
type Page = { readonly data: readonly Row[] }

async function createAgentsAndWebhooks(send: Send, dice: Dice): Promise<Row[]> {
  for (const name of NAMES) {
    const runtime = { kind: 'function', handler: 'answer' }
    await send('POST', '/v1/agents', { name, runtime, desiredState: 'running', concurrency: 8 })
  }
  const webhooks: Row[] = []
  for (const failures of [0, 0.1, 0.4]) {
    const hook = await receiver(() => (dice.chance(failures) ? dice.oneOf([500, 404, 302]) : 204))
    onTestFinished(hook.close)
    const events = ['message.responded', 'message.failed']
    webhooks.push(await send('POST', '/v1/webhooks', { url: hook.url, events }))
  }
  return webhooks
}

/** Sends a message. Sometimes retries it if it failed, and sometimes redelivers a delivery. */
async function work(send: Send, dice: Dice, n: number): Promise<void> {
  const route = `/v1/agents/${dice.oneOf(NAMES)}/messages`
  const message = {
    sessionId: `session ${dice.below(SESSIONS)}`,
    message: `né ${n}`,
    metadata: { n },
  }
  const { messageId, status } = await send<{ messageId: string; status: string }>(
    'POST',
    route,
    message,
    `${n}`,
  )
  if (status === 'pending' && dice.chance(0.3)) await send('POST', `${route}/${messageId}/retry`)
  if (dice.chance(0.01)) await send('POST', `${route}/${messageId}/cancel`)
  if (!dice.chance(0.02)) return
  const { data } = await send<Page>('GET', '/v1/deliveries?limit=50')
  if (data.length > 0) await send('POST', `/v1/deliveries/${dice.oneOf(data).id}/redeliver`)
}

const OPEN = `select (select count(*) from sessions where due_at is not null)
  + (select count(*) from deliveries where due_at is not null)
  + (select count(*) from recoveries where finished_at is null) as open`

it.each(['SQLite', 'PostgreSQL'] as const)(
  `after ${MESSAGES} messages with kills, retries, redeliveries and a recovery, all counts of two processes on %s equal the log`,
  { timeout: TIMEOUT_MS },
  async (store) => {
    const { servers, databaseUrl } = await scenes[store]()
    const { query, close } = await openTables(databaseUrl)
    onTestFinished(close)
    const dice = createDice(1)
    const send = clientOf(servers, dice)
    const [webhook] = await createAgentsAndWebhooks(send, dice)
    let sent = 0
    const client = async () => {
      for (let n = sent++; n < MESSAGES; n = sent++) {
        await work(send, dice, n)
        if (n === MESSAGES / 2) await send('POST', '/v1/recoveries', { webhookId: webhook?.id })
        if (n % KILL_EVERY !== KILL_EVERY - 1) continue
        const server = dice.oneOf(servers)
        await server.kill('SIGKILL')
        await server.start()
      }
    }
    await Promise.all(Array.from({ length: CLIENTS }, client))
    const isDrained = async () => (await query<{ open: number }>(OPEN))[0]?.open === 0
    expect(await until(isDrained, TIMEOUT_MS / 3)).toBe(true)

    const rows = await servedCounts((route) => send('GET', route))
    const facts = await factsOfTables(query)
    expect(facts.length).toBeGreaterThan(4 * MESSAGES)
    expect(Array.from(wrongCounts({ facts, rows }))).toEqual([])
  },
)
