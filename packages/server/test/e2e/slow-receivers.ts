import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'
import { testPostgres } from '../../../adapter-postgres/test/test-postgres.js'
import { realServer, type RealServer } from './real-server.js'

const CLIENTS = 20
export const METRICS_TOKEN = 'a-metrics-token-for-the-tests'

/** A receiver that answers late, and counts the requests that it has at a time. */
export async function slowReceiver(answerMs: number) {
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

/** Two servers on one new database, with an agent that answers each message. */
export async function twoServers(timeoutMs: number): Promise<[RealServer, RealServer]> {
  const postgres = await testPostgres()
  onTestFinished(() => postgres.close())
  const options = {
    agents: 'export default { echo: ({ message }) => message }',
    env: {
      SERVICE_DATABASE_URL: await postgres.database(),
      SERVICE_METRICS_TOKEN: METRICS_TOKEN,
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
export const sendMany = (servers: readonly RealServer[], count: number): Promise<void[]> =>
  Promise.all(
    Array.from({ length: CLIENTS }, async (_, client) => {
      for (let n = client; n < count; n += CLIENTS)
        await servers[n % 2]?.api('POST', '/v1/agents/echo/messages', {
          sessionId: `s${n}`,
          message: 'hi',
        })
    }),
  )
