import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { Hono } from 'hono'
import { describe, expect, it } from 'vitest'
import type { RequestFacts } from '@org/agent-messaging-http-kit'
import { createMcpEndpoint } from '../src/index.js'
import { callTool, ERAS, legacyCall, MODERN, openScene } from './scene.js'

const LIST = { jsonrpc: '2.0', id: 1, method: 'tools/list' }
const HELLO = { agent: 'echo', message: 'Hello' }
const envelope = {
  'io.modelcontextprotocol/protocolVersion': MODERN,
  'io.modelcontextprotocol/clientCapabilities': {},
}
/** A call of revision 2026-07-28 with the state of an earlier result. */
const resumed = (requestState: string) => ({
  jsonrpc: '2.0',
  id: 1,
  method: 'tools/call',
  params: { name: 'send_message', arguments: HELLO, requestState, _meta: envelope },
})
const MODERN_HEADERS = {
  'mcp-protocol-version': MODERN,
  'mcp-method': 'tools/call',
  'mcp-name': 'send_message',
}

describe('access', () => {
  it('needs a valid API key', async () => {
    const { request } = await openScene()
    for (const authorization of ['', 'Bearer wrong', 'Basic dTpw']) {
      const refused = await request(LIST, { authorization })
      expect(refused.status).toBe(401)
      expect(refused.headers.get('www-authenticate')).toBe('Bearer')
    }
  })

  it.each([
    ['project:agents', ['list_agents']],
    ['project:message', ['send_message', 'get_message', 'answer_input', 'cancel_message']],
  ] as const)('of a key with %s is to its tools', async (permission, names) => {
    const { clientOf, keyWith } = await openScene()
    const client = await clientOf('modern', { key: await keyWith([permission]) })
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(names)
    const forbidden = names.length === 1 ? 'send_message' : 'list_agents'
    await expect(callTool(client, forbidden, HELLO)).rejects.toThrow(forbidden)
  })

  it('of a key without these permissions is refused', async () => {
    const { keyWith, messagesOf, request } = await openScene()
    const authorization = `Bearer ${await keyWith(['project:webhooks'])}`
    expect((await request(LIST, { authorization })).status).toBe(403)
    expect((await request(legacyCall('send_message', HELLO), { authorization })).status).toBe(403)
    expect(await messagesOf('echo')).toEqual([])
  })

  it('of a batch that repeats an id is refused, and stores nothing', async () => {
    const { messagesOf, request } = await openScene()
    const call = legacyCall('send_message', HELLO)
    const refused = await request([call, call], {})
    expect(refused.status).toBe(400)
    expect(JSON.parse(refused.text)).toMatchObject({ error: { code: -32_600 } })
    expect(await messagesOf('echo')).toEqual([])
  })

  it.each(['2025-06-18', '2025-11-25', MODERN])(
    'of a batch of revision %s is refused, and stores nothing',
    async (version) => {
      const { messagesOf, request } = await openScene()
      const batch = [legacyCall('send_message', HELLO)]
      const refused = await request(batch, { 'mcp-protocol-version': version })
      expect(refused.status).toBe(400)
      expect(JSON.parse(refused.text)).toMatchObject({
        error: { code: -32_600, message: expect.stringContaining('batches') as string },
      })
      expect(await messagesOf('echo')).toEqual([])
    },
  )

  it('of a batch of revision 2025-03-26 is answered', async () => {
    const { messagesOf, request } = await openScene()
    const batch = [legacyCall('send_message', HELLO), LIST].map((one, id) => ({ ...one, id }))
    const { status, text } = await request(batch, { 'mcp-protocol-version': '2025-03-26' })
    expect(status).toBe(200)
    expect(JSON.parse(text)).toHaveLength(2)
    expect(await messagesOf('echo')).toHaveLength(1)
  })

  it('ends when the key is revoked, before any other refusal', async () => {
    const { createKey, messagesOf, projectId, request, service } = await openScene()
    const { apiKey, key } = await createKey(['project:message'])
    const headers = { authorization: `Bearer ${key}` }
    const send = (input: object) => request(legacyCall('send_message', input), headers)
    expect((await send(HELLO)).status).toBe(200)
    await service.keys.revoke({ projectId, keyId: apiKey.id })
    expect((await send(HELLO)).status).toBe(401)
    expect((await send({ agent: 'nobody', message: 'Hi' })).status).toBe(401)
    expect((await send({})).status).toBe(401)
    expect((await request(LIST, headers)).status).toBe(401)
    expect((await request('{', headers)).status).toBe(401)
    expect(await messagesOf('echo')).toHaveLength(1)
  })

  it('of a send that the storage does not confirm is not read again', async () => {
    const { clock, request, storage, key } = await openScene()
    const headers = { authorization: `Bearer ${key}` }
    const send = () => request(legacyCall('send_message', HELLO), headers)
    expect((await send()).status).toBe(200)
    const silence = new AbortController()
    const slowUntil = once(silence.signal, 'abort')
    storage.fail('messages.accept', { slowUntil })
    storage.fail('credentials.findByDigest', { slowUntil, times: Infinity })
    const sending = send()
    await clock.until(() => Promise.race([sending.then(() => true), sleep(1, false)]))
    silence.abort()
    expect((await sending).text).toContain('Repeat the send with the same Idempotency-Key')
  })

  it('does not reach messages of another project', async () => {
    const { clientOf, messagesOf, otherKey } = await openScene()
    await callTool(await clientOf('modern'), 'send_message', { ...HELLO, agent: 'asking' })
    const [message] = await messagesOf('asking')
    const other = await clientOf('modern', { key: otherKey })
    const ref = { agent: message?.agentId, messageId: message?.id }
    for (const [name, input] of [
      ['send_message', { agent: message?.agentId, message: 'Hi' }],
      ['get_message', ref],
      ['answer_input', { ...ref, inputId: message?.inputs?.[0]?.id, value: 'yes' }],
    ] as const)
      expect((await callTool(other, name, input)).texts[0]).toMatch(/^agent_not_found: /)
    expect((await callTool(other, 'list_agents', {})).output).toMatchObject({ agents: [] })
  })
})

describe('a trace', () => {
  const traceOf = (digit: string) => `00-${digit.repeat(32)}-${digit.repeat(16)}-01`
  const [header, meta] = [traceOf('a'), traceOf('b')]

  it.each([
    ['in _meta of the call', { traceparent: meta, tracestate: 'v=1' }, 'b', 'v=1'],
    ['in the headers', {}, 'a', 'v=2'],
    ['in the headers beside other fields of _meta', { traceparent: 7 }, 'a', 'v=2'],
  ])('%s reaches the agent', async (_, sent, digit, state) => {
    const { request, runtime } = await openScene()
    const input = { agent: 'slow', message: 'Hi', wait: false }
    const { params, ...call } = legacyCall('send_message', input)
    const body = { ...call, params: { ...params, _meta: sent } }
    await request(body, { traceparent: header, tracestate: 'v=2' })
    await expect.poll(() => runtime.requests.length).toBe(1)
    expect(runtime.requests[0]?.trace).toMatchObject({
      traceparent: expect.stringContaining(digit.repeat(32)) as string,
      tracestate: state,
    })
  })

  it('in _meta of a call of revision 2026-07-28 reaches the agent', async () => {
    const { request, runtime } = await openScene()
    const params = {
      name: 'send_message',
      arguments: { agent: 'slow', message: 'Hi', wait: false },
    }
    const body = {
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { ...params, _meta: { ...envelope, traceparent: meta } },
    }
    await request(body, MODERN_HEADERS)
    await expect.poll(() => runtime.requests.length).toBe(1)
    expect(runtime.requests[0]?.trace?.traceparent).toContain('b'.repeat(32))
  })
})

it('a subscription is acknowledged without any notification, and ends', async () => {
  const { request } = await openScene()
  const notifications = { toolsListChanged: true, resourceSubscriptions: ['file:///a'] }
  const params = { notifications, _meta: envelope }
  const body = { jsonrpc: '2.0', id: 7, method: 'subscriptions/listen', params }
  const headers = { 'mcp-protocol-version': MODERN, 'mcp-method': 'subscriptions/listen' }
  const { status, text } = await request(body, headers)
  const events = [...text.matchAll(/^data: (.*)$/gm)].map(([, data = '']) => JSON.parse(data))
  expect([status, events]).toMatchObject([
    200,
    [
      { method: 'notifications/subscriptions/acknowledged', params: { notifications: {} } },
      { id: 7, result: { resultType: 'complete' } },
    ],
  ])
  expect(events[0].params.notifications).toEqual({})
})

describe('the state of a repeated call', () => {
  it('names a message of the project of the key', async () => {
    const { clientOf, messagesOf, otherKey, request } = await openScene()
    await callTool(await clientOf('modern'), 'send_message', HELLO)
    const [message] = await messagesOf('echo')
    const body = resumed(`${message?.agentId}/${message?.id}`)
    expect((await request(body, MODERN_HEADERS)).text).toContain('"responded"')
    const authorization = `Bearer ${otherKey}`
    const refused = await request(body, { ...MODERN_HEADERS, authorization })
    expect(refused.text).toContain('agent_not_found')
    expect(await messagesOf('echo')).toHaveLength(1)
  })

  it('that the server did not make is refused', async () => {
    const { messagesOf, request } = await openScene()
    for (const state of ['x', '/', '../..', 'echo/1'])
      expect((await request(resumed(state), MODERN_HEADERS)).text).toContain(
        'request_state_invalid',
      )
    expect(await messagesOf('echo')).toEqual([])
  })
})

describe('a request', () => {
  it.each(ERAS)('of a %s client is served by any process', async (era) => {
    const { clientOf, key, service, crypto, url } = await openScene()
    const other = createMcpEndpoint({ service, crypto, newId: () => 'id' })
    const client = await clientOf(era)
    const { output } = await callTool(client, 'send_message', HELLO)
    const read = legacyCall('get_message', { agent: 'echo', messageId: output?.['messageId'] })
    const headers = {
      authorization: `Bearer ${key}`,
      accept: 'application/json, text/event-stream',
      'content-type': 'application/json',
    }
    const init = { method: 'POST', headers, body: JSON.stringify(read) }
    expect(await (await other.request(url, init)).text()).toContain('"response":"Hello"')
  })

  it('of a page of another origin is refused', async () => {
    const publicUrl = () => 'https://agents.example/base'
    const { request } = await openScene({ publicUrl })
    for (const [origin, status] of [
      ['https://evil.example', 403],
      ['null', 403],
      ['https://agents.example', 200],
      ['http://localhost:6274', 200],
    ] as const)
      expect((await request(LIST, { origin })).status).toBe(status)
  })

  it('that opens a stream or ends a session is refused', async () => {
    const { request } = await openScene()
    for (const method of ['GET', 'DELETE']) {
      const { status, headers } = await request(undefined, {}, method)
      expect([status, headers.get('allow')]).toEqual([405, 'POST'])
    }
  })

  it('that is no JSON, or too long, is refused', async () => {
    const { errors, key, request, url } = await openScene({ maxBodyBytes: 1_000 })
    expect((await request('{')).status).toBe(400)
    const deep = `${'['.repeat(64)}${']'.repeat(64)}`
    const body = `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":${deep}}}`
    expect((await request(body)).status).toBe(400)
    expect((await request(legacyCall('send_message', { message: 'x'.repeat(1_000) }))).status).toBe(
      413,
    )
    const stream = new Blob(['x'.repeat(2_000)]).stream()
    const headers = { authorization: `Bearer ${key}` }
    const init = { method: 'POST', headers, body: stream, duplex: 'half' } as RequestInit
    expect((await fetch(url, init)).status).toBe(413)
    expect(errors).toEqual([])
  })

  it('has an id, which its answer and its report name', async () => {
    const reported: RequestFacts[] = []
    const { projectId, request } = await openScene({
      onRequest: (facts) => void reported.push(facts),
    })
    const { headers } = await request(LIST, { 'x-request-id': 'request-1' })
    expect(headers.get('x-request-id')).toBe('request-1')
    expect(headers.get('cache-control')).toBe('no-store')
    await request(LIST, { authorization: '' })
    expect(reported).toMatchObject([
      { method: 'POST', route: '/mcp', status: 200, requestId: 'request-1', projectId },
      { status: 401, requestId: 'id-1' },
    ])
  })

  it('does not show an unexpected exception', async () => {
    const { clientOf, errors, service } = await openScene()
    service.agents.list = () => {
      throw new Error('secret details')
    }
    const { isError, texts } = await callTool(await clientOf('modern'), 'list_agents', {})
    expect([isError, texts]).toEqual([true, ['internal: The service failed unexpectedly']])
    expect(errors).toMatchObject([{ message: 'secret details' }])
  })
})

it('a Hono app of a host serves the route', async () => {
  const { crypto, service } = await openScene()
  const endpoint = createMcpEndpoint({ service, crypto, newId: () => 'id' })
  const host = new Hono().get('/', (c) => c.text('host')).route('/', endpoint)
  expect(await (await host.request('/')).text()).toBe('host')
  expect((await host.request('/mcp', { method: 'POST' })).status).toBe(401)
})
