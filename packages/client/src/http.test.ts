import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { createHttp } from './http.js'
import { createClient, NotCompletedError, type ClientOptions } from './index.js'

const closing: (() => void)[] = []
afterEach(() => {
  for (const close of closing.splice(0)) close()
})

type Asked = {
  readonly method: string
  readonly url: string
  readonly headers: IncomingMessage['headers']
  readonly body: string
}
type Reply =
  | { readonly status: number; readonly body?: unknown; readonly headers?: Record<string, string> }
  | 'reset'
  | 'cut'
  | 'silence'

it('a platform key acts on the project, and lists projects without one', async () => {
  const urls: string[] = []
  const fetch = async (url: string | URL | Request) => {
    urls.push(new Request(url).url)
    return Response.json({ data: [], nextCursor: null })
  }
  const options = { baseUrl: 'https://x.example/api/', apiKey: 'amk_x', retries: 0, fetch }
  const client = createClient({ ...options, project: 'customer-42' })
  await client.portalLinks.create()
  await client.messages.get('a', 'b').catch(() => undefined)
  for await (const _ of client.projects.list()) expect.unreachable()
  await client.projects.get('customer-43')
  const paths = urls.map((url) => url.replace('https://x.example/api/v1', ''))
  expect(paths.map((path) => path.split('?')[0])).toEqual([
    '/projects/customer-42/portal-links',
    '/projects/customer-42/agents/a/messages/b',
    '/projects',
    '/projects/customer-43',
  ])
  for (const project of ['', '.', '..'])
    expect(() => createClient({ ...options, project })).toThrow('project is not the id')
})

/** A service with these responses in order. The last one repeats. */
async function service(
  replies: readonly Reply[],
  options: Pick<ClientOptions, 'fetch' | 'retries'> = {},
) {
  const asked: Asked[] = []
  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = '', url = '', headers } = request
    let body = ''
    for await (const chunk of request) body += String(chunk)
    const reply = replies[Math.min(asked.length, replies.length - 1)] ?? 'reset'
    asked.push({ method, url, headers, body })
    if (reply === 'reset') return void request.socket.resetAndDestroy()
    if (reply === 'silence') return
    if (reply === 'cut')
      return void response
        .writeHead(200, { 'content-length': '99' })
        .write('{"mess', () => request.socket.destroy())
    response
      .writeHead(reply.status, reply.headers)
      .end(typeof reply.body === 'string' ? reply.body : JSON.stringify(reply.body))
  }
  const server = createServer((request, response) => void answer(request, response)).listen(
    0,
    '127.0.0.1',
  )
  closing.push(() => {
    server.closeAllConnections()
    server.close()
  })
  await once(server, 'listening')
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
  return { asked, baseUrl, client: createClient({ baseUrl, apiKey: 'the-key', ...options }) }
}

const responded = { status: 200, body: { messageId: 'm', status: 'responded', response: 'hi' } }
const hello = { sessionId: 's', message: 'hello' }

describe('the erasure of an end user', () => {
  it('covers all pages, repeats a failed request, and returns the sum', async () => {
    const part = (messages: number, nextCursor: string | null) => ({
      status: 200,
      body: { messages, openMessages: 1, deliveries: 2, events: 1, nextCursor },
    })
    const { client, asked } = await service([part(1, 'a.1'), 'reset', part(3, '.7'), part(5, null)])
    expect(await client.principals.erase('a/b', { force: true })).toEqual({
      messages: 9,
      openMessages: 3,
      deliveries: 6,
      events: 3,
    })
    expect(asked.map(({ method, url }) => `${method} ${url}`)).toEqual([
      'DELETE /v1/principals/a%2Fb?force=true',
      'DELETE /v1/principals/a%2Fb?force=true&cursor=a.1',
      'DELETE /v1/principals/a%2Fb?force=true&cursor=a.1',
      'DELETE /v1/principals/a%2Fb?force=true&cursor=.7',
    ])
  })
})

it('sends no key to a host whose login knows the caller', async () => {
  const { asked, baseUrl } = await service([responded])
  await createClient({ baseUrl, apiKey: null }).messages.send('echo', hello)
  expect(asked.map(({ headers }) => headers.authorization)).toEqual([undefined])
})

it.each([undefined, ''])('createClient rejects the key %j', (apiKey) => {
  expect(() => createClient({ baseUrl: 'https://messages.example', apiKey })).toThrow(
    /^apiKey is missing: /,
  )
})

it.each([undefined, 'messages.example', 'localhost:3000'])(
  'createClient rejects the base URL %j',
  (baseUrl) => {
    expect(() => createClient({ baseUrl: baseUrl as string, apiKey: 'k' })).toThrow(
      /^baseUrl is not an http\(s\) URL/,
    )
  },
)

it('the base URL can be a path in a browser', async () => {
  const asked: string[] = []
  const fetch = async (url: unknown): Promise<Response> => {
    asked.push(String(url))
    return Response.json({})
  }
  for (const baseUrl of ['', '/messaging/'])
    await createClient({ baseUrl, apiKey: 'k', fetch }).agents.get('echo')
  expect(asked).toEqual(['/v1/agents/echo', '/messaging/v1/agents/echo'])
})

describe('a request', () => {
  it('carries the key and the given query parameters', async () => {
    const { asked, client } = await service([{ status: 200, body: { data: [], nextCursor: null } }])
    for await (const _ of client.messages.list('a b', { sessionId: 's&' })) expect.unreachable()
    expect(asked).toMatchObject([
      { method: 'GET', url: '/v1/agents/a%20b/messages?sessionId=s%26' },
    ])
    expect(asked[0]?.headers.authorization).toBe('Bearer the-key')
  })
  it('returns the runs of a message', async () => {
    const runs = [{ attempt: 1, startedAt: '2030-01-31T12:00:00.000Z' }]
    const { asked, client } = await service([{ status: 200, body: { runs } }])
    expect(await client.messages.runs('echo', 'm')).toEqual(runs)
    expect(asked.map(({ url }) => url)).toEqual(['/v1/agents/echo/messages/m/runs'])
  })
  it('reads a list as it was asked for, also if the caller has changed its object since', async () => {
    const { asked, client } = await service([{ status: 200, body: { data: [], nextCursor: null } }])
    const query = { limit: 1 }
    const list = client.webhooks.list(query)
    query.limit = 2
    await list
    expect(asked.map(({ url }) => url)).toEqual(['/v1/webhooks?limit=1'])
  })
  it('reads a list page by page', async () => {
    const pages = [
      { status: 200, body: { data: [{ id: 1 }, { id: 2 }], nextCursor: '2' } },
      { status: 200, body: { data: [{ id: 3 }], nextCursor: null } },
    ]
    const { asked, client } = await service(pages)
    const ids: unknown[] = []
    for await (const { id } of client.webhooks.list()) ids.push(id)
    expect(ids).toEqual([1, 2, 3])
    expect(asked.map(({ url }) => url)).toEqual(['/v1/webhooks', '/v1/webhooks?cursor=2'])
  })
})

describe('a failed request', () => {
  it('is retried with the same idempotency key for a send', async () => {
    const { asked, client } = await service([
      'reset',
      { status: 503 },
      { status: 502, body: 'a proxy' },
      responded,
    ])
    expect(await client.messages.send('echo', hello)).toEqual(responded.body)
    expect(asked).toHaveLength(4)
    const keys = new Set(asked.map(({ headers }) => headers['idempotency-key']))
    expect(keys.size).toBe(1)
    expect([...keys][0]).toMatch(/^[0-9a-f-]{36}$/)
  })
  it('is retried for a cancellation but not for a retry of a message', async () => {
    const { asked, client } = await service(['reset', { status: 200, body: {} }])
    await client.messages.cancel('echo', 'm')
    expect(asked).toHaveLength(2)
    const retried = await service(['reset', { status: 200, body: {} }])
    await expect(retried.client.messages.retry('echo', 'm')).rejects.toThrow(TypeError)
    expect(retried.asked).toHaveLength(1)
  })
  it('is retried when its response breaks off', async () => {
    const { asked, client } = await service(['cut', responded])
    expect(await client.messages.send('echo', hello)).toEqual(responded.body)
    expect(asked).toHaveLength(2)
    const created = await service(['cut', { status: 201, body: {} }])
    await expect(
      created.client.webhooks.create({ url: 'https://a.example', events: ['*'] }),
    ).rejects.toThrow(TypeError)
    expect(created.asked).toHaveLength(1)
  })
  it('waits for Retry-After, and rejects when that is too long', async () => {
    const { asked, baseUrl } = await service([
      { status: 429, headers: { 'retry-after': '59' } },
      { status: 200, body: {} },
    ])
    const pauses: number[] = []
    const http = createHttp({ baseUrl, apiKey: 'k' }, async (ms) => void pauses.push(ms))
    await http.json({ method: 'GET', path: '/' })
    expect(asked).toHaveLength(2)
    expect(pauses).toEqual([59_000])
    const { client } = await service([
      { status: 429, headers: { 'retry-after': '3600' } },
      responded,
    ])
    await expect(client.messages.send('echo', hello)).rejects.toMatchObject({ status: 429 })
  })
  it('ignores a Retry-After that is a date', async () => {
    const { baseUrl } = await service([
      { status: 503, headers: { 'retry-after': 'Sun, 06 Nov 1994 08:49:37 GMT' } },
      { status: 200, body: {} },
    ])
    const pauses: number[] = []
    const http = createHttp({ baseUrl, apiKey: 'k' }, async (ms) => void pauses.push(ms))
    await http.json({ method: 'GET', path: '/' })
    expect(pauses).toEqual([expect.toSatisfy((ms: number) => ms >= 125 && ms <= 250)])
  })
  it('waits longer after each attempt, up to a limit', async () => {
    const { baseUrl } = await service([{ status: 503 }])
    const pauses: number[] = []
    const http = createHttp(
      { baseUrl, apiKey: 'k', retries: 8 },
      async (ms) => void pauses.push(ms),
    )
    await expect(http.json({ method: 'GET', path: '/' })).rejects.toMatchObject({ status: 503 })
    pauses.forEach((ms, n) => {
      const full = Math.min(250 * 2 ** n, 10_000)
      expect(ms).toBeGreaterThanOrEqual(full / 2)
      expect(ms).toBeLessThanOrEqual(full)
    })
    expect(pauses).toHaveLength(8)
  })
  it('is not retried for a creation or after an error of the service', async () => {
    const created = await service([{ status: 503 }, { status: 201, body: {} }])
    await expect(
      created.client.webhooks.create({ url: 'https://a.example', events: ['*'] }),
    ).rejects.toMatchObject({ status: 503 })
    expect(created.asked).toHaveLength(1)
    for (const status of [400, 500]) {
      const refused = await service([{ status }, responded])
      await expect(refused.client.messages.send('echo', hello)).rejects.toMatchObject({ status })
      expect(refused.asked).toHaveLength(1)
    }
  })
  it('rejects with the last response after all retries', async () => {
    const { asked, client } = await service(
      [{ status: 503, body: { error: { code: 'UNAVAILABLE', message: 'away' } } }],
      { retries: 1 },
    )
    await expect(client.agents.get('echo')).rejects.toMatchObject({
      name: 'ApiError',
      status: 503,
      code: 'UNAVAILABLE',
      message: 'away',
    })
    expect(asked).toHaveLength(2)
    const gone = await service(['reset'], { retries: 0 })
    await expect(gone.client.agents.get('echo')).rejects.toThrow(TypeError)
  })
  it('is not redirected', async () => {
    const elsewhere = { status: 301, headers: { location: '/other/v1/agents/echo/messages' } }
    const { client, asked } = await service([
      elsewhere,
      { status: 200, body: { data: [], nextCursor: null } },
    ])
    const sent = client.messages.send('echo', hello)
    await expect(sent).rejects.toMatchObject({
      status: 301,
      code: 'UNKNOWN',
      message: expect.stringContaining('baseUrl') as string,
    })
    expect(asked.map(({ method }) => method)).toEqual(['POST'])
  })

  it('rejects a response that is not JSON', async () => {
    const { client } = await service([
      { status: 200, body: 'Welcome', headers: { 'content-type': 'text/html' } },
    ])
    await expect(client.agents.get('echo')).rejects.toMatchObject({
      name: 'ApiError',
      status: 200,
      code: 'UNKNOWN',
    })
  })

  it('rejects with the code, the issues and the request id', async () => {
    const issues = [{ path: 'sessionId', message: 'is required' }]
    const body = {
      error: { code: 'BAD_REQUEST', message: 'sessionId is required', issues },
      requestId: 'r-1',
    }
    const { client } = await service([{ status: 400, body, headers: { 'x-request-id': 'r-1' } }])
    const refused = client.messages.send('echo', hello)
    await expect(refused).rejects.toMatchObject({
      code: 'BAD_REQUEST',
      message: 'sessionId is required',
      issues,
      requestId: 'r-1',
    })
    const proxied = await service([{ status: 404, body: 'nothing here' }])
    await expect(proxied.client.agents.get('echo')).rejects.toMatchObject({
      code: 'UNKNOWN',
      requestId: undefined,
      issues: [],
    })
  })
  it('ends when its signal aborts, also between attempts', async () => {
    const { asked, client } = await service([{ status: 503, headers: { 'retry-after': '30' } }])
    const aborter = new AbortController()
    const sending = client.messages.send('echo', hello, { signal: aborter.signal })
    while (asked.length === 0) await new Promise(setImmediate)
    setTimeout(() => aborter.abort(new Error('enough')), 20)
    await expect(sending).rejects.toThrow('enough')
    expect(asked).toHaveLength(1)
  })
})

describe('an id in a path', () => {
  it('is one encoded segment', async () => {
    const { client, asked } = await service([{ status: 200, body: {} }])
    await client.webhooks.delete('../agents/support')
    await client.deliveries.get('a?status=b#c')
    await client.messages.cancel('support', '../../other/messages/m')
    expect(asked.map(({ method, url }) => `${method} ${url}`)).toEqual([
      'DELETE /v1/webhooks/..%2Fagents%2Fsupport',
      'GET /v1/deliveries/a%3Fstatus%3Db%23c',
      'POST /v1/agents/support/messages/..%2F..%2Fother%2Fmessages%2Fm/cancel',
    ])
  })
  it.each(['.', '..'])('is rejected if it is %j', async (id) => {
    const { client, asked } = await service([{ status: 200, body: {} }])
    for (const asking of [
      client.sessions.erase('support', id),
      client.principals.erase(id),
      client.messages.get(id, 'm'),
    ])
      await expect(asking).rejects.toThrow('as a path segment')
    await expect(client.messages.stream('support', id).next()).rejects.toThrow(TypeError)
    expect(asked).toEqual([])
  })
})

describe('messages.complete', () => {
  const pending = { status: 202, body: { messageId: 'm', status: 'pending' } }
  const state = (state: string) => ({ status: 200, body: { messageId: 'm', state } })
  it('polls until the message is final', async () => {
    const { asked, client } = await service([
      pending,
      state('running'),
      state('queued'),
      state('responded'),
    ])
    expect(await client.messages.complete('echo', hello)).toMatchObject({ state: 'responded' })
    expect(asked.map(({ headers }) => headers.prefer)).toEqual([
      'wait=25',
      'wait=25',
      'wait=25',
      'wait=25',
    ])
  })
  it.each(['failed', 'cancelled'])('returns a %s message', async (final) => {
    const { client } = await service([pending, state(final)])
    expect(await client.messages.complete('echo', hello)).toMatchObject({ state: final })
  })
  it('pauses between polls that the service does not hold', async () => {
    const { client, asked } = await service([pending, state('running')])
    const completing = client.messages.complete('echo', hello, { timeoutMs: 600 })
    await expect(completing).rejects.toThrow(NotCompletedError)
    expect(asked.length).toBeLessThan(10)
  })
  it('ends with its signal, also between polls', async () => {
    const { client, asked } = await service([pending, state('running')])
    const aborter = new AbortController()
    const completing = client.messages.complete('echo', hello, { signal: aborter.signal })
    while (asked.length < 3) await new Promise(setImmediate)
    aborter.abort(new Error('enough'))
    await expect(completing).rejects.toThrow('enough')
  })
  it('rejects with the message id when the service is gone', async () => {
    const { client } = await service([pending, 'reset'], { retries: 0 })
    const completing = client.messages.complete('echo', hello)
    await expect(completing).rejects.toThrow(NotCompletedError)
    await expect(completing).rejects.toMatchObject({
      messageId: 'm',
      message: 'message m has no answer yet, and the connection is lost',
    })
  })
  it.each([502, 503])('rejects with the message id when a proxy returns %d', async (status) => {
    const { client } = await service([pending, { status, body: 'a proxy' }], { retries: 1 })
    const completing = client.messages.complete('echo', hello)
    await expect(completing).rejects.toThrow(NotCompletedError)
    await expect(completing).rejects.toMatchObject({
      messageId: 'm',
      cause: { name: 'ApiError', status },
    })
  })
  it('rejects with the error of the service when the message is gone', async () => {
    const { client } = await service([
      pending,
      { status: 404, body: { error: { code: 'NOT_FOUND', message: 'no such message' } } },
    ])
    await expect(client.messages.complete('echo', hello)).rejects.toMatchObject({
      name: 'ApiError',
      code: 'NOT_FOUND',
    })
  })
  // The timeouts are negative, to skip most of the few extra seconds.
  it('ends at its timeout when the service is busy or hangs', async () => {
    const busy = await service([{ status: 503, headers: { 'retry-after': '60' } }])
    await expect(
      busy.client.messages.complete('echo', hello, { timeoutMs: -4_900 }),
    ).rejects.toMatchObject({ name: 'TimeoutError' })
    const hangs = await service([pending, 'silence'])
    const completing = hangs.client.messages.complete('echo', hello, { timeoutMs: -3_000 })
    await expect(completing).rejects.toMatchObject({ name: 'NotCompletedError', messageId: 'm' })
  }, 30_000)
  it('can wait without a timeout', async () => {
    const { client } = await service([pending, state('responded')])
    expect(await client.messages.complete('echo', hello, { timeoutMs: Infinity })).toMatchObject({
      state: 'responded',
    })
  })
  it('rejects with the message id at its timeout', async () => {
    const { client } = await service([pending, state('running')])
    const completing = client.messages.complete('echo', hello, { timeoutMs: 0 })
    await expect(completing).rejects.toThrow(NotCompletedError)
    await expect(completing).rejects.toMatchObject({ messageId: 'm' })
  })
})

describe('a client with session tokens', () => {
  const refused = { status: 401, body: { error: { code: 'UNAUTHORIZED', message: 'no' } } }
  const open = async (replies: readonly Reply[], tokens: readonly string[]) => {
    const { asked, baseUrl } = await service(replies)
    let made = 0
    const token = async () => {
      const next = tokens[made++]
      if (next === undefined) throw new Error('no token')
      return next
    }
    return { client: createClient({ baseUrl, token }), asked, made: () => made }
  }
  const sentWith = (asked: readonly Asked[]) => asked.map(({ headers }) => headers.authorization)

  it('asks for one token, and uses it for all requests', async () => {
    const { client, asked, made } = await open([responded], ['ams_1'])
    await Promise.all([client.messages.get('a', 'm'), client.messages.get('a', 'm')])
    await client.messages.send('a', hello)
    expect(sentWith(asked)).toEqual(['Bearer ams_1', 'Bearer ams_1', 'Bearer ams_1'])
    expect(made()).toBe(1)
  })

  it('renews a token that has ended, also for a send', async () => {
    const { client, asked } = await open([refused, responded], ['ams_1', 'ams_2'])
    expect(await client.messages.send('a', hello)).toMatchObject({ response: 'hi' })
    expect(sentWith(asked)).toEqual(['Bearer ams_1', 'Bearer ams_2'])
  })

  it('tells that a new token is refused, too', async () => {
    const { client, asked } = await open([refused], ['ams_1', 'ams_2'])
    await expect(client.messages.get('a', 'm')).rejects.toMatchObject({ status: 401 })
    expect(asked).toHaveLength(2)
  })

  it('asks again after the host gave no token', async () => {
    const { baseUrl } = await service([responded])
    let asked = 0
    const token = async () => {
      if (asked++ === 0) throw new Error('signed out')
      return 'ams_1'
    }
    const client = createClient({ baseUrl, token, retries: 0 })
    await expect(client.messages.get('a', 'm')).rejects.toThrow('signed out')
    expect(await client.messages.get('a', 'm')).toMatchObject({ messageId: 'm' })
  })
})
