import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { testPostgres, type TestPostgres } from '../../../adapter-postgres/test/test-postgres.js'
import { realServer, until, type RealServer } from './real-server.js'

// Each process sends 8 requests to a webhook at a time and queues 8 more.
// This receiver never answers.

/** The other process must not get these deliveries by the end of a request, a lease or a stop. */
const LONG_LIMITS = {
  SERVICE_DELIVERY_TIMEOUT_MS: '50000',
  SERVICE_DELIVERY_LEASE_MS: '120000',
  SERVICE_SHUTDOWN_GRACE_MS: '60000',
}

const CONCURRENT = 8
const requested = new Set<unknown>()
let postgres: TestPostgres
let hook: Server
let one: RealServer
let other: RealServer

beforeAll(async () => {
  postgres = await testPostgres()
  const env = { ...LONG_LIMITS, SERVICE_DATABASE_URL: await postgres.database() }
  one = await realServer({ env })
  other = await realServer({ env })
  hook = createServer(({ headers }) => requested.add(headers['x-service-delivery'])).listen(
    0,
    '127.0.0.1',
  )
  await once(hook, 'listening')
})
afterAll(async () => {
  await one.dispose()
  await other.dispose()
  hook.closeAllConnections()
  hook.close()
  await postgres.close()
})

it('another server sends the queued deliveries of a server while that server stops', async () => {
  const agent = {
    name: 'echo',
    runtime: { kind: 'function', handler: 'echo' },
    desiredState: 'running',
  }
  expect((await one.api('POST', '/v1/agents', agent)).status).toBe(201)
  const url = `http://127.0.0.1:${(hook.address() as AddressInfo).port}/`
  expect(
    (await one.api('POST', '/v1/webhooks', { url, events: ['message.responded'] })).status,
  ).toBe(201)
  for (let n = 0; n < 2 * CONCURRENT; n++) {
    expect(
      (await one.api('POST', '/v1/agents/echo/messages', { sessionId: `${n}`, message: 'hi' }))
        .status,
    ).toBe(200)
  }
  expect(await until(() => requested.size === CONCURRENT)).toBe(true)

  const ended = one.kill('SIGTERM')
  expect(await until(() => requested.size === 2 * CONCURRENT, 30_000)).toBe(true)
  await one.kill('SIGKILL')
  await ended
})
