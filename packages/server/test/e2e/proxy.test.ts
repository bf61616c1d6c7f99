import { createServer } from 'node:http'
import { expect, it, onTestFinished } from 'vitest'
import { proxyOn } from '../../../adapter-outbound/test/proxy.js'
import { realServer } from './real-server.js'
import { receiver } from './receiver.js'

it.each(['on', 'off'])('webhooks go through the proxy, webhook thread %s', async (thread) => {
  const hook = await receiver()
  const { asked, at } = await proxyOn(createServer())
  const server = await realServer({
    env: { SERVICE_OUTBOUND_PROXY: `http://user:secret@${at}`, SERVICE_WEBHOOK_THREAD: thread },
  })
  onTestFinished(async () => {
    await server.dispose()
    await hook.close()
  })
  const runtime = { kind: 'function', handler: 'echo' }
  await server.api('POST', '/v1/agents', { name: 'parrot', runtime, desiredState: 'running' })
  await server.api('POST', '/v1/webhooks', { url: hook.url, events: ['message.responded'] })
  const message = { sessionId: 's', message: 'hello' }
  expect((await server.api('POST', '/v1/agents/parrot/messages', message)).status).toBe(200)
  await expect.poll(() => hook.received.length, { timeout: 10_000 }).toBe(1)
  const credentials = `Basic ${Buffer.from('user:secret').toString('base64')}`
  expect(asked).toEqual([[new URL(hook.url).host, credentials]])
  expect(server.output()).not.toContain('secret')
})
