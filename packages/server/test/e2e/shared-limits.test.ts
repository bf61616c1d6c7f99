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
async function slowReceiver() {
  const counts = { now: 0, most: 0, received: 0 }
  const server = createServer((request, response) => {
    counts.received++
    counts.most = Math.max(counts.most, ++counts.now)
    request.resume()
    setTimeout(() => {
      counts.now--
      response.writeHead(200).end()
    }, ANSWER_MS)
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

async function twoServers(): Promise<[RealServer, RealServer]> {
  const options = {
    agents: 'export default { echo: ({ message }) => message }',
    env: {
      SERVICE_DATABASE_URL: await postgres.database(),
      SERVICE_METRICS_TOKEN: TOKEN,
      SERVICE_DELIVERY_TIMEOUT_MS: '1000',
      SERVICE_DELIVERY_LEASE_MS: '3000',
    },
  }
  const servers = [await realServer(options), await realServer(options)] as const
  onTestFinished(() => Promise.all(servers.map((server) => server.dispose())).then(() => undefined))
  return [...servers]
}

it(
  'two servers on one PostgreSQL keep maxConcurrency and requestsPerSecond together',
  { timeout: 120_000 },
  async () => {
    const [one, other] = await twoServers()
    const [parallel, paced] = [await slowReceiver(), await slowReceiver()]
    const agent = { name: 'echo', runtime: { kind: 'function', handler: 'echo' } }
    await one.api('POST', '/v1/agents', { ...agent, desiredState: 'running' })
    const events = ['message.responded']
    const limits = [
      { url: parallel.url, events, maxConcurrency: MAX_CONCURRENCY },
      { url: paced.url, events, requestsPerSecond: PER_SECOND },
    ]
    for (const webhook of limits)
      expect((await one.api('POST', '/v1/webhooks', webhook)).status).toBe(201)
    await Promise.all(
      Array.from({ length: CLIENTS }, async (_, client) => {
        for (let n = client; n < MESSAGES; n += CLIENTS)
          await [one, other][n % 2]?.api('POST', '/v1/agents/echo/messages', {
            sessionId: `s${n}`,
            message: 'hi',
          })
      }),
    )

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
