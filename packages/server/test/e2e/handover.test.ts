import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { testPostgres, type TestPostgres } from '../../../adapter-postgres/test/test-postgres.js'
import { realServer, until, type RealServer } from './real-server.js'

// Each process sends 8 requests at a time to a webhook, and holds 8 more; this receiver answers none of them.

const AT_A_TIME = 8
const asked = new Set<unknown>()
let postgres: TestPostgres
let hook: Server
let one: RealServer
let other: RealServer

beforeAll(async () => {
  postgres = await testPostgres()
  const env = { SERVICE_DATABASE_URL: await postgres.database() }
  one = await realServer({ env })
  other = await realServer({ env })
  hook = createServer(({ headers }) => asked.add(headers['x-service-delivery'])).listen(
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

it('what waits for its turn in a server that stops is sent by the other while the first one still ends', async () => {
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
  for (let n = 0; n < 2 * AT_A_TIME; n++) {
    expect(
      (await one.api('POST', '/v1/agents/echo/messages', { sessionId: `${n}`, message: 'hi' }))
        .status,
    ).toBe(200)
  }
  expect(await until(() => asked.size === AT_A_TIME)).toBe(true)

  const ended = one.kill('SIGTERM')
  expect(await until(() => asked.size === 2 * AT_A_TIME, 9_000)).toBe(true)
  await one.kill('SIGKILL')
  await ended
})
