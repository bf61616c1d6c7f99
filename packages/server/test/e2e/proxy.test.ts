import { randomBytes } from 'node:crypto'
import { createServer } from 'node:http'
import { newApiKey } from '@org/agent-messaging-core/host'
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
  await expect.poll(() => hook.received.length).toBe(1)
  const credentials = `Basic ${Buffer.from('user:secret').toString('base64')}`
  expect(asked).toEqual([[new URL(hook.url).host, credentials]])
  expect(server.output()).not.toContain('secret')
})

type Run = { readonly callback?: { readonly url: string; readonly token: string } }

it(
  '10,000 wrong keys of one proxy stop no new key, no key after a restart and no callback',
  { timeout: 240_000 },
  async () => {
    const remote = await receiver(() => 202)
    const server = await realServer()
    onTestFinished(async () => {
      await server.dispose()
      await remote.close()
    })
    const runtime = { kind: 'http', url: remote.url }
    await server.api('POST', '/v1/agents', { name: 'remote', runtime })
    const create = async (): Promise<string> => {
      const body = { name: 'key', permissions: ['project:message'] }
      return ((await (await server.api('POST', '/v1/keys', body)).json()) as { key: string }).key
    }
    const send = async (key: string, sessionId: string) => {
      const body = { sessionId, message: 'hi' }
      const headers = { authorization: `Bearer ${key}`, prefer: 'respond-async' }
      return (await server.api('POST', '/v1/agents/remote/messages', body, headers)).status
    }
    const headers = { 'x-forwarded-for': '203.0.113.1' }
    const guess = async (key: string) => {
      const authorization = `Bearer ${key}`
      const options = { headers: { ...headers, authorization } }
      const answer = await fetch(`${server.url}/v1/agents`, options)
      await answer.text()
      return answer.status
    }
    const statuses = new Set<number>()
    const flood = (count: number) =>
      Promise.all(
        Array.from({ length: 20 }, async () => {
          for (let n = 0; n < count / 20; n++)
            statuses.add(await guess(n % 2 ? newApiKey(randomBytes) : `a-wrong-key-${n}`))
        }),
      )
    const callBack = async (sent: number) => {
      await expect.poll(() => runs().length).toBe(sent)
      const { url, token } = runs()[sent - 1]?.callback ?? { url: '', token: '' }
      const answer = await fetch(url, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: JSON.stringify({ response: 'late' }),
      })
      return answer.status
    }
    const runs = () =>
      remote.received
        .map(({ body }) => JSON.parse(body || '{}') as Run)
        .filter((run) => run.callback)

    await flood(1_000)
    const [key, keyOfLater] = [await create(), await create()]
    const flooding = flood(5_000)
    expect([await send(key, 'one'), await callBack(1)]).toEqual([202, 204])
    await flooding
    await server.kill('SIGTERM')
    await server.start()
    await flood(1_000)
    const floodingAgain = flood(3_000)
    expect([await send(keyOfLater, 'two'), await callBack(2)]).toEqual([202, 204])
    await floodingAgain
    expect(statuses).toEqual(new Set([401, 429]))
    expect(server.output().match(/SERVICE_TRUSTED_PROXIES is empty/g)).toHaveLength(2)
  },
)
