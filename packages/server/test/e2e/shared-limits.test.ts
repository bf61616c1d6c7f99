import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest'
import { testPostgres, type TestPostgres } from '../../../adapter-postgres/test/test-postgres.js'
import { realServer, until, type RealServer } from './real-server.js'

const MESSAGES = 800
const CLIENTS = 20
const MAX_CONCURRENCY = 3
const PER_SECOND = 10
const ANSWER_MS = 150
/** A process that joins others waits for 15 s and one timeout. */
const BOTH_SEND_WITHIN_MS = 40_000
const MEASURED_MS = 6_000
const TOKEN = 'a-metrics-token-for-the-tests'

let postgres: TestPostgres
beforeAll(async () => {
  postgres = await testPostgres()
})
afterAll(() => postgres.close())

/** A receiver that answers late, and counts the requests that it has at a time. */
async function slowReceiver(answerMs = ANSWER_MS) {
  const counts = { now: 0, most: 0, received: 0 }
  const server = createServer((request, response) => {
    counts.received++
    counts.most = Math.max(counts.most, ++counts.now)
    request.resume()
    setTimeout(() => {
      counts.now--
      response.writeHead(200).end()
    }, answerMs)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return { counts, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/` }
}

async function attemptsOf({ url }: RealServer): Promise<number> {
  const headers = { authorization: `Bearer ${TOKEN}` }
  const text = await (await fetch(`${url}/metrics`, { headers })).text()
  const sums = text.matchAll(/^agent_messaging_delivery_attempts_total\{.*\} (\d+)$/gm)
  return [...sums].reduce((sum, [, count]) => sum + Number(count), 0)
}

/** Two servers on one new database, with an agent that answers each message. */
async function twoServers(timeoutMs = 1_000): Promise<[RealServer, RealServer]> {
  const options = {
    agents: 'export default { echo: ({ message }) => message }',
    env: {
      SERVICE_DATABASE_URL: await postgres.database(),
      SERVICE_METRICS_TOKEN: TOKEN,
      SERVICE_DELIVERY_TIMEOUT_MS: String(timeoutMs),
      SERVICE_DELIVERY_LEASE_MS: String(3 * timeoutMs),
    },
  }
  const servers = [await realServer(options), await realServer(options)] as const
  onTestFinished(() => Promise.all(servers.map((server) => server.dispose())).then(() => undefined))
  const agent = { name: 'echo', runtime: { kind: 'function', handler: 'echo' } }
  await servers[0].api('POST', '/v1/agents', { ...agent, desiredState: 'running' })
  return [...servers]
}

/** Sends messages to both servers. */
const sendMany = (servers: readonly RealServer[], count: number): Promise<void[]> =>
  Promise.all(
    Array.from({ length: CLIENTS }, async (_, client) => {
      for (let n = client; n < count; n += CLIENTS)
        await servers[n % 2]?.api('POST', '/v1/agents/echo/messages', {
          sessionId: `s${n}`,
          message: 'hi',
        })
    }),
  )

it(
  'two servers on one PostgreSQL keep maxConcurrency and requestsPerSecond together',
  { timeout: 120_000 },
  async () => {
    const [one, other] = await twoServers()
    const [parallel, paced] = [await slowReceiver(), await slowReceiver()]
    const events = ['message.responded']
    const limits = [
      { url: parallel.url, events, maxConcurrency: MAX_CONCURRENCY },
      { url: paced.url, events, requestsPerSecond: PER_SECOND },
    ]
    for (const webhook of limits)
      expect((await one.api('POST', '/v1/webhooks', webhook)).status).toBe(201)
    await sendMany([one, other], MESSAGES)

    const bothSend = async () => (await attemptsOf(one)) > 0 && (await attemptsOf(other)) > 0
    expect(await until(bothSend, BOTH_SEND_WITHIN_MS)).toBe(true)
    await sleep(1_000)
    const before = [paced.counts.received, await attemptsOf(one), await attemptsOf(other)]
    await sleep(MEASURED_MS)
    const after = [paced.counts.received, await attemptsOf(one), await attemptsOf(other)]
    const [sent = 0, ofOne = 0, ofOther = 0] = after.map((count, at) => count - (before[at] ?? 0))
    const allowed = (PER_SECOND * MEASURED_MS) / 1_000
    expect(sent).toBeGreaterThan(allowed / 2)
    expect(sent).toBeLessThanOrEqual(allowed + PER_SECOND)
    expect(Math.min(ofOne, ofOther)).toBeGreaterThan(0)
    expect(parallel.counts.most).toBe(MAX_CONCURRENCY)
  },
)

it(
  'a pause by one server stops the deliveries that the other server holds',
  { timeout: 60_000 },
  async () => {
    const servers = await twoServers(10_000)
    const slow = await slowReceiver(1_500)
    const created = await servers[0].api('POST', '/v1/webhooks', {
      url: slow.url,
      events: ['message.responded'],
    })
    const { id } = (await created.json()) as { readonly id: string }
    await sendMany(servers, 100)
    // One server has 8 requests at a time at first.
    expect(await until(() => slow.counts.now > 8, 10_000)).toBe(true)
    const paused = await servers[0].api('PATCH', `/v1/webhooks/${id}`, { paused: true })
    expect(paused.status).toBe(200)
    // The news takes a moment. Each server has more deliveries than slots.
    await sleep(500)
    const before = slow.counts.received
    await sleep(3_000)
    expect(slow.counts.received).toBe(before)
  },
)
