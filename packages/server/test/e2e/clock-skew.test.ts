import { afterAll, beforeAll, expect, it } from 'vitest'
import { testPostgres, type TestPostgres } from '../../../adapter-postgres/test/test-postgres.js'
import { otherClock } from './clock.js'
import { realServer, until, type RealServer } from './real-server.js'

// Two processes on PostgreSQL. The clock of one is a minute ahead, which is many leases.

const AGENTS = `export default {
  slow: ({ message }) => new Promise((answer) => setTimeout(answer, 4_000, message)),
}`
let postgres: TestPostgres
let right: RealServer
let ahead: RealServer

beforeAll(async () => {
  postgres = await testPostgres()
  const env = {
    SERVICE_DATABASE_URL: await postgres.database(),
    SERVICE_RUN_LEASE_MS: '3000',
  }
  right = await realServer({ env, agents: AGENTS })
  ahead = await realServer({
    env: { ...env, ...otherClock({ CLOCK_OFF_MS: '60000' }) },
    agents: AGENTS,
  })
  const runtime = { kind: 'function', handler: 'slow' }
  const agent = { name: 'agent', runtime, desiredState: 'running' }
  expect((await right.api('POST', '/v1/agents', agent)).status).toBe(201)
})
afterAll(async () => {
  await ahead.dispose()
  await right.dispose()
  await postgres.close()
})

const messageOf = async (server: RealServer, id: string) =>
  (await (await server.api('GET', `/v1/agents/agent/messages/${id}`)).json()) as {
    status: string
    attempt: number
  }

it('a process that is a minute ahead runs no message of another process again', async () => {
  const body = { sessionId: 'right', message: 'hello' }
  const sent = await right.api('POST', '/v1/agents/agent/messages', body)
  const { messageId } = (await sent.json()) as { messageId: string }
  expect(await messageOf(ahead, messageId)).toMatchObject({ status: 'responded', attempt: 1 })
  expect(await until(() => ahead.output().includes('clock.corrected'))).toBe(true)
})

it('a process that is a minute ahead is taken over in time', async () => {
  const body = { sessionId: 'ahead', message: 'hello' }
  const sent = await ahead.api('POST', '/v1/agents/agent/messages', body, {
    prefer: 'respond-async',
  })
  const { messageId } = (await sent.json()) as { messageId: string }
  await ahead.kill('SIGKILL')
  const isAnswered = async (): Promise<boolean> =>
    (await messageOf(right, messageId)).status === 'responded'
  expect(await until(isAnswered)).toBe(true)
  expect(await messageOf(right, messageId)).toMatchObject({ attempt: 2 })
})
