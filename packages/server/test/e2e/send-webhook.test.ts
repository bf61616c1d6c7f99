import { createServer } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { verify } from '@org/agent-messaging-client/webhooks'
import { testPostgres, type TestPostgres } from '../../../adapter-postgres/test/test-postgres.js'
import { realServer, until, type RealServer } from './real-server.js'
import { receiver } from './receiver.js'

const secret = `whsec_${btoa('canary-of-the-secret-of-a-send')}`
const AGENTS = `export default {
  echo: ({ message }) => message,
  slow: () => new Promise((resolve) => setTimeout(resolve, 60_000)),
}`

let postgres: TestPostgres
beforeAll(async () => {
  postgres = await testPostgres()
})
afterAll(() => postgres.close())

type Delivery = { readonly id: string; readonly status: string; readonly webhookId: string }

describe.each(['sqlite', 'postgres'])('the webhook of a send on %s', (store) => {
  let server: RealServer
  let hook: Awaited<ReturnType<typeof receiver>>
  let answers = ''

  const call = async (method: string, route: string, body?: unknown, headers = {}) => {
    const answer = await server.api(method, route, body, headers)
    const text = await answer.text()
    answers += text
    return { status: answer.status, json: text === '' ? undefined : (JSON.parse(text) as never) }
  }
  const send = (more: object, agent = 'echo', headers = {}) =>
    call(
      'POST',
      `/v1/agents/${agent}/messages`,
      { sessionId: 's', message: 'hi', ...more },
      headers,
    )
  const deliveries = async () =>
    (((await call('GET', '/v1/deliveries')).json ?? { data: [] }) as { data: Delivery[] }).data

  async function open(env: Record<string, string> = {}) {
    answers = ''
    hook = await receiver()
    server = await realServer({
      agents: AGENTS,
      env: {
        SERVICE_LOG_LEVEL: 'debug',
        ...(store === 'postgres' && { SERVICE_DATABASE_URL: await postgres.database() }),
        ...env,
      },
    })
    for (const name of ['echo', 'slow'])
      await call('POST', '/v1/agents', {
        name,
        runtime: { kind: 'function', handler: name },
        desiredState: 'running',
      })
  }
  afterEach(async () => {
    await server.dispose()
    await hook.close()
  })

  it('gets the answer once, signed, and shows its secret nowhere', async () => {
    await open()
    const key = { 'idempotency-key': 'k' }
    const webhook = { url: hook.url, secret }
    const sent = await send({ webhook }, 'echo', key)
    expect(sent).toMatchObject({ status: 200, json: { status: 'responded', response: 'hi' } })
    expect(Object.keys(sent.json ?? {})).toEqual(['messageId', 'status', 'response'])
    expect((await send({ webhook }, 'echo', key)).json).toEqual(sent.json)
    expect(await until(() => hook.received.length === 1)).toBe(true)
    const [{ headers, body } = { headers: {}, body: '' }] = hook.received
    const { event } = await verify(body, headers, secret)
    expect(event).toMatchObject({ event: 'message.responded', data: { response: 'hi' } })
    expect(await until(async () => (await deliveries())[0]?.status === 'delivered')).toBe(true)
    const [delivery] = await deliveries()
    const detail = await call('GET', `/v1/deliveries/${delivery?.id}`)
    expect(detail.json).toMatchObject({ attempts: [{ url: hook.url, outcome: 'accepted' }] })
    expect((await call('GET', '/v1/webhooks')).json).toMatchObject({ data: [] })
    const { messageId } = sent.json as unknown as { messageId: string }
    await call('GET', `/v1/agents/echo/messages/${messageId}`)
    await call('GET', `/v1/messages/${messageId}/story`)
    expect(answers + server.output()).not.toContain(secret)
    await call('DELETE', '/v1/agents/echo/sessions/s')
    expect(await until(async () => (await deliveries()).length === 0)).toBe(true)
    expect(hook.received).toHaveLength(1)
  })

  it('is refused with a private address, and a redirect is not followed', async () => {
    await open()
    const target = hook.url
    const redirecting = createServer((_, response) =>
      response.writeHead(302, { location: target }).end(),
    ).listen(0, '127.0.0.1')
    await once(redirecting, 'listening')
    for (const url of ['http://10.0.0.1/', 'http://169.254.169.254/latest', 'http://[::1]/'])
      expect(await send({ webhook: { url, secret } })).toMatchObject({
        status: 400,
        json: { error: { issues: [{ path: 'webhook.url' }] } },
      })
    for (const [path, webhook] of [
      ['webhook.secret', { url: target, secret: `whsec_${btoa('short')}` }],
      ['webhook.secret', { url: target }],
      ['webhook.events', { url: target, secret, events: ['webhook.failing'] }],
      ['webhook', { url: target, secret, header: 'x' }],
    ] as const)
      expect(await send({ webhook })).toMatchObject({
        status: 400,
        json: { error: { issues: [{ path }] } },
      })
    expect(await deliveries()).toEqual([])
    const { port } = redirecting.address() as AddressInfo
    await send({ webhook: { url: `http://127.0.0.1:${port}/${'x'.repeat(2_000)}`, secret } })
    const outcome = async () => {
      const [delivery] = await deliveries()
      const { json } = await call('GET', `/v1/deliveries/${delivery?.id}`)
      return (json as unknown as { attempts?: { statusCode: number }[] }).attempts?.[0]?.statusCode
    }
    expect(await until(async () => (await outcome()) === 302)).toBe(true)
    expect(hook.received).toEqual([])
    redirecting.close()
  })

  it('survives a kill between the send and the run', async () => {
    await open({ SERVICE_RUN_LEASE_MS: '2000' })
    const webhook = { url: hook.url, secret, events: ['message.cancelled'] }
    const prefer = { prefer: 'respond-async' }
    const { json } = await send({ webhook }, 'slow', prefer)
    const { messageId } = json as unknown as { messageId: string }
    await server.kill('SIGKILL')
    await server.start()
    await call('POST', `/v1/agents/slow/messages/${messageId}/cancel`)
    expect(await until(() => hook.received.length === 1)).toBe(true)
    expect(hook.received[0]?.headers['x-service-event']).toBe('message.cancelled')
  })
})
