import { once } from 'node:events'
import { createServer, type AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { CRON_SECRET, realServer, until, type RealServer } from './real-server.js'
import { receiver } from './receiver.js'

/** For a busy machine. The hanging receiver makes each pass that long. */
const BUDGET_MS = 7_000

let server: RealServer
let hook: Awaited<ReturnType<typeof receiver>>
/** Accepts connections and never responds. */
const hanging = createServer()

beforeAll(async () => {
  await once(hanging.listen(0, '127.0.0.1'), 'listening')
  hook = await receiver()
  const env = { SERVICE_SYNC_MESSAGE_TIMEOUT_MS: '0', SERVICE_CRON_BUDGET_MS: String(BUDGET_MS) }
  server = await realServer({ args: ['--no-worker'], env })
})
afterAll(async () => {
  await server.dispose()
  await hook.close()
  hanging.close()
})

const pass = async () => {
  const answer = await server.api('POST', '/api/cron/webhooks', undefined, {
    authorization: `Bearer ${CRON_SECRET}`,
  })
  expect(answer.status).toBe(200)
  return (await answer.json()) as { messages: number; deliveries: number }
}

it('one call of the cron route does all due work of a server without timers, despite a hanging receiver', async () => {
  const agent = {
    name: 'echo',
    runtime: { kind: 'function', handler: 'echo' },
    desiredState: 'running',
  }
  expect((await server.api('POST', '/v1/agents', agent)).status).toBe(201)
  await pass()
  const hangs = `http://127.0.0.1:${(hanging.address() as AddressInfo).port}/`
  for (const url of [hangs, hook.url])
    await server.api('POST', '/v1/webhooks', { url, events: ['message.responded'] })
  const send = (n: number) =>
    server.api('POST', '/v1/agents/echo/messages', { sessionId: String(n), message: 'hi' })
  for (let n = 0; n < 50; n++) expect((await send(n)).status).toBe(202)
  expect(hook.received).toHaveLength(0)

  expect(await pass()).toMatchObject({ messages: 50 })
  expect(hook.received).toHaveLength(50)

  expect((await send(50)).status).toBe(202)
  await server.kill('SIGKILL')
  await server.start()
  expect(await until(() => hook.received.length > 50, 1_500)).toBe(false)
  expect(await pass()).toMatchObject({ messages: 1 })
  expect(hook.received).toHaveLength(51)
})
