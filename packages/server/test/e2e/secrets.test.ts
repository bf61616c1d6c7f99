import { readdir, readFile } from 'node:fs/promises'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { realServer, until, type RealServer } from './real-server.js'
import { receiver } from './receiver.js'

const CANARY = 'canary-5c1d9e'
const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736'
const IN_TRACE = new RegExp(`^00-${TRACE}-[0-9a-f]{16}-01$`)

describe('a webhook with custom headers', () => {
  let server: RealServer
  let hook: Awaited<ReturnType<typeof receiver>>
  let responses = ''

  const call = async (
    method: string,
    route: string,
    body?: unknown,
    headers?: Record<string, string>,
  ) => {
    const text = await (await server.api(method, route, body, headers)).text()
    responses += text
    return JSON.parse(text) as {
      id: string
      data: { id: string; status: string }[]
      secret: string
      attempts: unknown[]
    }
  }

  beforeAll(async () => {
    server = await realServer({
      env: { SERVICE_LOG_LEVEL: 'debug', SERVICE_WEBHOOK_RETRY_SCHEDULE: '100ms,100ms' },
    })
    hook = await receiver((n) => (n === 0 ? 500 : 200))
    await call('POST', '/v1/agents', {
      name: 'parrot',
      runtime: { kind: 'function', handler: 'echo' },
      desiredState: 'running',
    })
  })
  afterAll(async () => {
    await server.dispose()
    await hook.close()
  })

  it('receives the headers and the trace of the send at each attempt', async () => {
    await call('POST', '/v1/webhooks', {
      url: hook.url,
      events: ['message.responded'],
      headers: { 'X-Api-Key': CANARY },
    })
    const trace = { traceparent: `00-${TRACE}-00f067aa0ba902b7-01`, tracestate: 'vendor=1' }
    await call('POST', '/v1/agents/parrot/messages', { sessionId: 's', message: 'hello' }, trace)
    expect(await until(() => hook.received.length === 2)).toBe(true)
    for (const { headers } of hook.received) {
      expect(headers).toMatchObject({
        'x-api-key': CANARY,
        traceparent: expect.stringMatching(IN_TRACE) as string,
        tracestate: 'vendor=1',
      })
    }
    expect(new Set(hook.received.map(({ headers }) => headers['traceparent'])).size).toBe(2)
  })

  it('has redacted header values in its deliveries', async () => {
    const [{ id } = { id: '' }] = (await call('GET', '/v1/deliveries')).data
    expect(
      await until(
        async () => (await call('GET', '/v1/deliveries')).data[0]?.status === 'delivered',
      ),
    ).toBe(true)
    const { attempts } = await call('GET', `/v1/deliveries/${id}`)
    const sent = hook.received.map(({ headers }) => ({
      'X-Service-Signature': headers['x-service-signature'],
      traceparent: headers['traceparent'],
    }))
    expect(attempts).toMatchObject(
      sent.map((ours) => ({ requestHeaders: { ...ours, 'X-Api-Key': '[redacted]' } })),
    )
  })

  it('has its header values in no response, log or file, but its trace id in the log', async () => {
    expect(await server.kill('SIGTERM')).toBe(0)
    const files = await readdir(server.folder)
    const contents = await Promise.all(
      files.map((file) => readFile(path.join(server.folder, file), 'latin1')),
    )
    expect(contents.join()).toContain('X-Api-Key')
    expect(
      [responses, server.output(), ...contents].filter((text) => text.includes(CANARY)),
    ).toEqual([])
    expect(server.output()).toContain(`"traceId":"${TRACE}"`)
  })
})
