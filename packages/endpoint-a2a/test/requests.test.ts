import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { Hono } from 'hono'
import { describe, expect, it, vi } from 'vitest'
import { createA2aEndpoint } from '../src/index.js'
import { asking, openScene } from './scene.js'

const CARD = '/.well-known/agent-card.json'
const MESSAGE = { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'Hi' }] }
const rpc = (method: string, params: unknown = {}) => ({ jsonrpc: '2.0', id: 7, method, params })
const sent = (fields: object) => rpc('SendMessage', { message: { ...MESSAGE, ...fields } })

describe('the agent card', () => {
  it('names the agent, its skills, both bindings and the API key', async () => {
    const { request, url } = await openScene()
    const { json, status } = await request(`/echo${CARD}`, { method: 'GET' })
    expect(status).toBe(200)
    expect(json).toMatchObject({
      name: 'echo',
      description: 'Repeats your words',
      supportedInterfaces: [
        { url: `${url}/echo`, protocolBinding: 'JSONRPC', protocolVersion: '1.0' },
        { url: `${url}/echo`, protocolBinding: 'HTTP+JSON', protocolVersion: '1.0' },
      ],
      capabilities: { streaming: true, pushNotifications: true },
      securitySchemes: { apiKey: { httpAuthSecurityScheme: { scheme: 'Bearer' } } },
      defaultInputModes: ['text/plain', 'application/json', '*/*'],
      skills: [{ id: 'repeat', name: 'Repeat', description: 'Repeats a text', tags: ['text'] }],
    })
    const { skills } = (await request(`/slow${CARD}`, { method: 'GET' })).json
    expect(skills).toMatchObject([{ id: 'chat', name: 'slow', tags: ['chat'] }])
  })

  it('can be kept, and changes with the agent', async () => {
    const { projectId, request, service } = await openScene()
    const first = await request(`/echo${CARD}`, { method: 'GET' })
    expect(first.headers.get('cache-control')).toBe('private, max-age=60')
    const headers = { 'if-none-match': first.headers.get('etag') ?? '' }
    expect((await request(`/echo${CARD}`, { method: 'GET', headers })).status).toBe(304)
    const change = { a2a: { enabled: true, description: 'Another' } }
    await service.agents.update({ projectId, agent: 'echo', change })
    const changed = await request(`/echo${CARD}`, { method: 'GET', headers })
    expect([changed.status, changed.json.description]).toEqual([200, 'Another'])
  })
})

it('a Hono app of a host serves the routes, with the URL that the host names', async () => {
  const { crypto, key, service } = await openScene()
  const publicUrl = () => 'https://agents.example/'
  const endpoint = createA2aEndpoint({ service, crypto, newId: () => 'id', publicUrl })
  const host = new Hono().get('/', (c) => c.text('host')).route('/', endpoint)
  expect(await (await host.request('/')).text()).toBe('host')
  const headers = { authorization: `Bearer ${key}` }
  const card = await (await host.request(`/a2a/echo${CARD}`, { headers })).json()
  expect(card).toMatchObject({
    supportedInterfaces: [{ url: 'https://agents.example/a2a/echo' }, {}],
  })
})

describe('access', () => {
  it.each([
    ['a card', `/echo${CARD}`, 'GET'],
    ['JSON-RPC', '/echo', 'POST'],
    ['HTTP+JSON', '/echo/message:send', 'POST'],
  ])('%s needs an API key with the permission project:message', async (_, path, method) => {
    const { keyWith, request } = await openScene()
    const other = await keyWith(['project:webhooks'])
    const body = method === 'POST' ? rpc('SendMessage') : undefined
    for (const [authorization, status, name] of [
      ['', 401, 'UNAUTHENTICATED'],
      ['Bearer wrong', 401, 'UNAUTHENTICATED'],
      [`Bearer ${other}`, 403, 'PERMISSION_DENIED'],
    ] as const) {
      const refused = await request(path, { method, body, headers: { authorization } })
      expect([refused.status, refused.json.error.status]).toEqual([status, name])
      expect(refused.headers.get('www-authenticate')).toBe(status === 401 ? 'Bearer' : null)
    }
  })

  it('another project, and agents that are not published, do not exist', async () => {
    const { otherKey, request } = await openScene()
    const missing = [
      await request(`/echo${CARD}`, {
        method: 'GET',
        headers: { authorization: `Bearer ${otherKey}` },
      }),
      await request(`/private${CARD}`, { method: 'GET' }),
      await request('/private', { body: rpc('SendMessage', { message: MESSAGE }) }),
      await request('/nobody/message:send', { body: { message: MESSAGE } }),
    ]
    for (const { status, json } of missing)
      expect([status, json.error]).toMatchObject([
        404,
        { status: 'NOT_FOUND', details: [{ reason: 'AGENT_NOT_FOUND' }] },
      ])
  })

  it('a key that was valid is refused after it is revoked', async () => {
    const { createKey, messagesOf, projectId, request, service } = await openScene()
    const { apiKey, key } = await createKey(['project:message'])
    const headers = { authorization: `Bearer ${key}` }
    const sent = await request('/echo', {
      headers,
      body: rpc('SendMessage', { message: MESSAGE }),
    })
    const { id } = sent.json.result.task
    await service.keys.revoke({ projectId, keyId: apiKey.id })
    const again = { message: { ...MESSAGE, messageId: 'another' } }
    for (const refused of [
      await request('/echo', { headers, body: rpc('SendMessage', again) }),
      await request('/echo', { headers, body: rpc('GetTask', { id }) }),
      await request('/echo', { headers, body: rpc('Unknown') }),
      await request('/echo', { headers, body: rpc('SendMessage') }),
      await request('/echo', { headers, body: '{' }),
      await request('/echo/message:send', { headers, body: {} }),
      await request('/nobody/message:send', { headers, body: again }),
      await request('/echo/message:send', { headers, body: again }),
      await request(`/echo/tasks/${id}`, { headers, method: 'GET' }),
      await request(`/echo${CARD}`, { headers, method: 'GET' }),
    ])
      expect(refused.status).toBe(401)
    expect(await messagesOf('echo')).toHaveLength(1)
  })
})

describe('JSON-RPC', () => {
  it('answers at the URL with and without a slash, and takes an Idempotency-Key', async () => {
    const { messagesOf, request } = await openScene()
    const headers = { 'idempotency-key': 'key-1' }
    const body = rpc('SendMessage', { message: MESSAGE })
    const [one, other] = [
      await request('/echo', { body, headers }),
      await request('/echo/', { body, headers }),
    ]
    expect(one.json).toMatchObject({ id: 7, result: { task: { history: [{ messageId: 'm' }] } } })
    expect(other.json).toEqual(one.json)
    expect(await messagesOf('echo')).toHaveLength(1)
  })

  it.each<[string, unknown, number]>([
    ['text that is not JSON', '{', -32700],
    ['too many values', `[${'1,'.repeat(20_000)}1]`, -32700],
    ['too many levels', `${'['.repeat(33)}${']'.repeat(33)}`, -32700],
    ['an unknown method without params', { jsonrpc: '2.0', id: 7, method: 'tasks/get' }, -32601],
    ['a text that is an object', sent({ parts: [{ text: {} }] }), -32602],
    ['a media type that is a list', sent({ parts: [{ text: 'Hi', media_type: [] }] }), -32602],
    ['a messageId that is a number', sent({ messageId: 1 }), -32602],
    [
      'a token that is an object',
      rpc('CreateTaskPushNotificationConfig', { taskId: 't', url: 'https://a.example', token: {} }),
      -32602,
    ],
    ['a list of requests', [rpc('GetTask')], -32600],
    ['a request without a version', { id: 7, method: 'GetTask' }, -32600],
    ['an unknown method', rpc('tasks/get'), -32601],
    ['a message without parts', rpc('SendMessage', { message: { ...MESSAGE, parts: [] } }), -32602],
    ['no message', rpc('SendMessage'), -32602],
    [
      'a part of a wrong type',
      rpc('SendMessage', { message: { ...MESSAGE, parts: [{ raw: 0 }] } }),
      -32602,
    ],
    ['an id of a wrong type', rpc('GetTask', { id: { toString: 1, valueOf: 1 } }), -32602],
    [
      'a stream of a wrong type',
      rpc('SubscribeToTask', { id: { toString: 1, valueOf: 1 } }),
      -32602,
    ],
    ['the role of the agent', rpc('SendMessage', { message: { ...MESSAGE, role: 2 } }), -32602],
    [
      'a push config of an unknown task',
      rpc('GetTaskPushNotificationConfig', { taskId: 't' }),
      -32001,
    ],
    ['the extended card', rpc('GetExtendedAgentCard'), -32004],
    ['an unknown task', rpc('GetTask', { id: crypto.randomUUID() }), -32001],
    ['an unknown state', rpc('ListTasks', { status: 'SLEEPING' }), -32602],
  ])('answers %s with the error %#', async (_, body, code) => {
    const { request } = await openScene()
    const { json, status } = await request('/echo', { body })
    expect([status, json.error.code]).toEqual([200, code])
  })

  it('refuses other versions, types and too long bodies', async () => {
    const { request } = await openScene()
    const body = rpc('SendMessage', { message: MESSAGE })
    const code = async (headers: Record<string, string>) =>
      (await request('/echo', { body, headers })).json.error?.code
    expect(await code({ 'a2a-version': '' })).toBe(-32009)
    expect(await code({ 'a2a-version': '2.0' })).toBe(-32009)
    expect(await code({ 'a2a-version': '1.1.0' })).toBe(-32009)
    expect(await code({ 'a2a-version': '1.0.3' })).toBeUndefined()
    expect(await code({ 'content-type': 'text/plain' })).toBe(-32005)
    const long = await request('/echo', { body: 'x'.repeat(1024 * 1024 + 1) })
    expect(long.json.error).toMatchObject({
      code: -32603,
      data: [{ reason: 'REQUEST_TOO_LARGE' }],
    })
  })

  it('says that the agent does not run', async () => {
    const { projectId, request, service } = await openScene()
    await service.agents.stop({ projectId, agent: 'echo' })
    const { json } = await request('/echo', { body: rpc('SendMessage', { message: MESSAGE }) })
    expect(json.error).toMatchObject({ code: -32603, data: [{ reason: 'AGENT_NOT_RUNNING' }] })
    const rest = await request('/echo/message:send', { body: { message: MESSAGE } })
    expect([rest.status, rest.json.error.status]).toEqual([503, 'UNAVAILABLE'])
  })
})

it('a send that the storage does not confirm is refused, without a look at its key', async () => {
  const { clock, request, storage } = await openScene()
  const send = (messageId: string) =>
    request('/echo/message:send', { body: { message: { ...MESSAGE, messageId } } })
  expect((await send('first')).status).toBe(200)
  const silence = new AbortController()
  const slowUntil = once(silence.signal, 'abort')
  storage.fail('messages.accept', { slowUntil, times: 2 })
  storage.fail('credentials.findByDigest', { slowUntil, times: Infinity })
  const rpcSend = rpc('SendMessage', { message: { ...MESSAGE, messageId: 'second' } })
  const sending = Promise.all([send('third'), request('/echo', { body: rpcSend })])
  await clock.until(() => Promise.race([sending.then(() => true), sleep(1, false)]))
  silence.abort()
  const [rest, { json }] = await sending
  expect([rest.status, rest.headers.get('retry-after')]).toEqual([503, '1'])
  for (const { error } of [rest.json, json])
    expect(error.message).toContain('Repeat the send with the same Idempotency-Key')
})

describe('both bindings', () => {
  const PATHS = ['/echo', '/echo/message:send']

  it('refuse a body that is not UTF-8, and store nothing', async () => {
    const { messagesOf, request } = await openScene()
    const refused = PATHS.map(async (path) => {
      const body =
        path === '/echo' ? rpc('SendMessage', { message: MESSAGE }) : { message: MESSAGE }
      const bytes = Buffer.from(JSON.stringify(body).replace('Hi', '\u00ff'), 'latin1')
      return (await request(path, { body: new Blob([bytes]) })).json.error.code as number
    })
    expect(await Promise.all(refused)).toEqual([-32700, 400])
    expect(await messagesOf('echo')).toEqual([])
  })

  it('refuse an Idempotency-Key that was sent twice', async () => {
    const { messagesOf, request } = await openScene()
    const headers = { 'idempotency-key': 'one, two' }
    const rest = await request('/echo/message:send', { body: { message: MESSAGE }, headers })
    const body = rpc('SendMessage', { message: MESSAGE })
    const call = await request('/echo', { body, headers })
    expect([rest.status, call.json.error.code]).toEqual([400, -32602])
    expect(await messagesOf('echo')).toEqual([])
  })

  it.each(PATHS)('report no failure when the caller of %s leaves before the end', async (path) => {
    const { app, errors, key } = await openScene()
    const headers = { authorization: `Bearer ${key}`, 'a2a-version': '1.0' }
    const left = Object.assign(new Error('aborted'), { code: 'ECONNRESET' })
    const body = new ReadableStream({ pull: (controller) => controller.error(left) })
    const init = { method: 'POST', headers, body, duplex: 'half' } as RequestInit
    const answer = await app.request(`/a2a${path}`, init)
    expect(await answer.json()).toMatchObject({
      error: { code: path === '/echo' ? -32700 : 400 },
    })
    const unread = { method: 'POST', headers, body: '{}', signal: AbortSignal.abort() }
    const request = new Request(`http://service.test/a2a${path}`, unread)
    await request.text().catch(() => undefined)
    expect((await app.request(request)).status).toBe(path === '/echo' ? 200 : 400)
    expect(errors).toEqual([])
  })
})

describe('HTTP+JSON', () => {
  it.each<[string, string, string, unknown, number]>([
    ['an unknown route', 'POST', '/echo/message:forget', {}, 404],
    ['an unknown action of a task', 'POST', '/echo/tasks/1:retry', {}, 404],
    ['text that is not JSON', 'POST', '/echo/message:send', '{', 400],
    ['too many values', 'POST', '/echo/message:send', `{"a":[${'1,'.repeat(20_000)}1]}`, 400],
    [
      'too many levels',
      'POST',
      '/echo/message:send',
      `{"a":${'['.repeat(32)}${']'.repeat(32)}}`,
      400,
    ],
    ['no message', 'POST', '/echo/message:send', {}, 400],
    [
      'a text that is an object',
      'POST',
      '/echo/message:send',
      { message: { ...MESSAGE, parts: [{ text: {} }] } },
      400,
    ],
    [
      'a token that is a number',
      'POST',
      '/echo/tasks/1/pushNotificationConfigs',
      { token: 1 },
      400,
    ],
    ['an unknown task', 'GET', '/echo/tasks/1', undefined, 404],
    ['a history length that is no number', 'GET', '/echo/tasks/1?historyLength=x', undefined, 404],
    ['a page size of 0', 'GET', '/echo/tasks?pageSize=0', undefined, 400],
    ['the extended card', 'GET', '/echo/extendedAgentCard', undefined, 400],
    ['configs of an unknown task', 'GET', '/echo/tasks/1/pushNotificationConfigs', undefined, 404],
    ['an unpublished agent', 'GET', '/private/tasks', undefined, 404],
    ['a config that is no JSON', 'POST', '/echo/tasks/1/pushNotificationConfigs', '{', 400],
  ])('answers %s', async (_, method, path, body, status) => {
    const { errors, request } = await openScene()
    const answer = await request(path, { method, body })
    expect([answer.status, answer.json.error.code]).toEqual([status, status])
    expect(errors).toEqual([])
  })

  it('passes no text to the storage that no store accepts', async () => {
    const { errors, request, service } = await openScene()
    const sent = await request('/echo/message:send', { body: { message: MESSAGE } })
    const list = vi.spyOn(service.messages, 'list')
    const remove = vi.spyOn(service.hooks, 'delete')
    const listed = await request('/echo/tasks?contextId=%00', { method: 'GET' })
    expect([listed.status, listed.json.tasks]).toEqual([200, []])
    const path = (id: string) => `/echo/tasks/${sent.json.task.id}/pushNotificationConfigs/${id}`
    const unknown = await request(path('unknown'), { method: 'DELETE' })
    expect((await request(path('%00'), { method: 'DELETE' })).status).toBe(unknown.status)
    expect(list).not.toHaveBeenCalled()
    expect(remove.mock.calls.map(([{ name }]) => name)).toEqual(['unknown', ''])
    expect(errors).toEqual([])
  })

  it('reads the task for HEAD, and leaves no stream open', async () => {
    const { errors, request, service } = await openScene()
    const configuration = { returnImmediately: true }
    const sent = await request('/slow/message:send', { body: { message: MESSAGE, configuration } })
    const stream = vi.spyOn(service.messages, 'stream')
    const path = `/slow/tasks/${sent.json.task.id}:subscribe`
    expect((await request(path, { method: 'HEAD' })).status).toBe(200)
    const opened = await Promise.all(stream.mock.results.map(({ value }) => value))
    for (const one of opened) expect(await one?.next()).toMatchObject({ done: true })
    expect(errors).toEqual([])
  })

  it('over the limit of sends is told when to try again', async () => {
    const project = { messagesPerMinute: 6, burst: 1 }
    const { messagesOf, request } = await openScene({ quotas: { project } })
    const send = () => request('/echo', { body: rpc('SendMessage', { message: MESSAGE }) })
    await send()
    const refused = await request('/echo/message:send', {
      body: { message: { ...MESSAGE, messageId: 'another' } },
    })
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '10'])
    expect(await messagesOf('echo')).toHaveLength(1)
  })

  it('hides unexpected errors, and reports them', async () => {
    const scene = await openScene()
    Object.assign(scene.service.messages, {
      send: () => {
        throw new Error('secret')
      },
    })
    const rest = await scene.request('/echo/message:send', { body: { message: MESSAGE } })
    expect([rest.status, rest.text.includes('secret')]).toEqual([500, false])
    const call = await scene.request('/echo', { body: rpc('SendMessage', { message: MESSAGE }) })
    expect([call.json.error.code, call.text.includes('secret')]).toEqual([-32603, false])
    const client = await scene.clientOf('echo', 'JSONRPC')
    await expect(client.sendMessage(asking('Hi'))).rejects.toThrow('unexpectedly')
    expect(scene.errors).toHaveLength(3)
  })
})
