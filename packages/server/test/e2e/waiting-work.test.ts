import { functionRuntime } from '@org/agent-messaging-core'
import { type Clock } from '@org/agent-messaging-core/runtime'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { testPostgres, type TestPostgres } from '../../../adapter-postgres/test/test-postgres.js'
import { wire, type Wiring } from '@org/agent-messaging-node/wiring'
import { realServer, until, type RealServer } from './real-server.js'
import { receiver } from './receiver.js'

// One process serves only the API. This process runs the agent. Its clock never wakes up, so that
// only signals from the other process make it look for work.

const stoppedClock: Clock = {
  now: Date.now,
  elapsed: () => performance.now(),
  sleep: (_, signal) =>
    new Promise((resolve) => {
      if (signal?.aborted) resolve()
      else signal?.addEventListener('abort', () => resolve(), { once: true })
    }),
}

const begun: string[] = []
let postgres: TestPostgres
let api: RealServer
let owner: Wiring
beforeAll(async () => {
  postgres = await testPostgres()
  const databasePath = await postgres.database()
  api = await realServer({
    env: { SERVICE_DATABASE_URL: databasePath, SERVICE_SYNC_MESSAGE_TIMEOUT_MS: '20000' },
    args: ['--no-worker'],
  })
  const agent = {
    name: 'echo',
    runtime: { kind: 'function', handler: 'echo' },
    desiredState: 'running',
  }
  expect((await api.api('POST', '/v1/agents', agent)).status).toBe(201)
  const echo = ({ message }: { readonly message: string }): string => {
    begun.push(message)
    return message
  }
  owner = await wire(
    {
      databasePath,
      masterKey: Buffer.alloc(32, 1),
      clock: stoppedClock,
      addresses: { allowedCidrs: ['127.0.0.0/8'] },
      runtimes: [functionRuntime({ echo }, { exclusive: true })],
    },
    () => undefined,
  )
  await owner.service.start()
})
afterAll(async () => {
  await owner.service.stop()
  await owner.close()
  await api.dispose()
  await postgres.close()
})

const send = (message: string, wait: string): Promise<Response> =>
  api.api('POST', '/v1/agents/echo/messages', { sessionId: message, message }, { prefer: wait })

it('a signal starts a message in the process that has the agent', async () => {
  // Until this process listens, signals are lost. The next signal finds the missed messages.
  const hasRun = async (): Promise<boolean> =>
    (await send('again', 'wait=0')).status === 202 && begun.length > 0
  expect(await until(hasRun)).toBe(true)
  for (let n = 0; n < 20; n++) {
    expect(await (await send(`${n}`, 'wait=20')).json()).toMatchObject({
      status: 'responded',
      response: `${n}`,
    })
  }
  expect(begun.filter((message) => message !== 'again')).toEqual(
    Array.from({ length: 20 }, (_, n) => `${n}`),
  )
})

it('a signal starts a delivery in the process that sends', async () => {
  const hook = await receiver()
  const { id } = (await (
    await api.api('POST', '/v1/webhooks', { url: hook.url, events: ['*'] })
  ).json()) as { id: string }
  for (let n = 1; n <= 5; n++) {
    expect((await api.api('POST', `/v1/webhooks/${id}/test`)).ok).toBe(true)
    expect(await until(() => hook.received.length === n)).toBe(true)
  }
  await hook.close()
})
