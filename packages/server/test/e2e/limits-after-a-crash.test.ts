import { expect, it, onTestFinished } from 'vitest'
import { realServer, until } from './real-server.js'
import { receiver } from './receiver.js'

it('a server on SQLite sends to a webhook with a limit right after a crash', async () => {
  const server = await realServer({ agents: 'export default { echo: ({ message }) => message }' })
  onTestFinished(() => server.dispose())
  const hook = await receiver()
  onTestFinished(() => hook.close())
  const agent = { name: 'echo', runtime: { kind: 'function', handler: 'echo' } }
  await server.api('POST', '/v1/agents', { ...agent, desiredState: 'running' })
  const webhook = { url: hook.url, events: ['message.responded'], maxConcurrency: 2 }
  expect((await server.api('POST', '/v1/webhooks', webhook)).status).toBe(201)
  const send = () =>
    server.api('POST', '/v1/agents/echo/messages', { sessionId: 's', message: 'hi' })
  await send()
  expect(await until(() => hook.received.length === 1)).toBe(true)
  await server.kill('SIGKILL')
  await server.start()
  await send()
  // The crash can repeat the first delivery. A process that joins others waits for half a minute.
  expect(await until(() => hook.received.length >= 2, 20_000)).toBe(true)
})
