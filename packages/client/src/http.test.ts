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

/** A service that answers with these, in turn; the last one repeats. */
async function service(replies: readonly Reply[], options: Partial<ClientOptions> = {}) {
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
  it('goes on until nothing is left to look at, over a lost answer too, and adds up', async () => {
    const part = (messages: number, nextCursor: string | null) => ({
      ...{ status: 200, body: { messages, openMessages: 1, deliveries: 2, nextCursor } },
    })
    const { client, asked } = await service([part(1, 'a.1'), 'reset', part(3, '.7'), part(5, null)])
    expect(await client.principals.erase('a/b', { force: true })).toEqual({
      messages: 9,
      openMessages: 3,
      deliveries: 6,
    })
    expect(asked.map(({ method, url }) => `${method} ${url}`)).toEqual([
      'DELETE /v1/principals/a%2Fb?force=true',
      'DELETE /v1/principals/a%2Fb?force=true&cursor=a.1',
      'DELETE /v1/principals/a%2Fb?force=true&cursor=a.1',
      'DELETE /v1/principals/a%2Fb?force=true&cursor=.7',
    ])
  })
})

it.each([undefined, ''])('a client is not made with the key %j', (apiKey) => {
  expect(() => createClient({ baseUrl: 'https://messages.example', apiKey })).toThrow(
    /^There is no API key: /,
  )
})

it.each([undefined, 'messages.example', 'localhost:3000'])(
  'a client is not made for the base URL %j',
  (baseUrl) => {
    expect(() => createClient({ baseUrl: baseUrl as string, apiKey: 'k' })).toThrow(
      /^There is no base URL: give `baseUrl`/,
    )
  },
)

it('a client in a browser may have its own origin as its base', async () => {
  const asked: string[] = []
  const fetch = async (url: unknown): Promise<Response> => (
    asked.push(String(url)),
    Response.json({})
  )
  for (const baseUrl of ['', '/messaging/'])
    await createClient({ baseUrl, apiKey: 'k', fetch }).agents.get('echo')
  expect(asked).toEqual(['/v1/agents/echo', '/messaging/v1/agents/echo'])
})

describe('a request', () => {
  it('carries the key, and the query without what is absent', async () => {
    const { asked, client } = await service([{ status: 200, body: { data: [], nextCursor: null } }])
    for await (const _ of client.messages.list('a b', { sessionId: 's&' })) expect.unreachable()
    expect(asked).toMatchObject([
      { method: 'GET', url: '/v1/agents/a%20b/messages?limit=100&sessionId=s%26' },
    ])
    expect(asked[0]?.headers.authorization).toBe('Bearer the-key')
  })
  it('follows the cursors of a list, a page at a time', async () => {
    const pages = [
      { status: 200, body: { data: [{ id: 1 }, { id: 2 }], nextCursor: '2' } },
      { status: 200, body: { data: [{ id: 3 }], nextCursor: null } },
    ]
    const { asked, client } = await service(pages)
    const ids: unknown[] = []
    for await (const { id } of client.webhooks.list()) ids.push(id)
    expect(ids).toEqual([1, 2, 3])
    expect(asked.map(({ url }) => url)).toEqual([
      '/v1/webhooks?limit=100',
      '/v1/webhooks?limit=100&cursor=2',
    ])
  })
})

describe('a request that fails', () => {
  it('is repeated under one idempotency key when it is a send', async () => {
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
  it('is repeated when it cancels a message, and not when it has one tried again', async () => {
    const { asked, client } = await service(['reset', { status: 200, body: {} }])
    await client.messages.cancel('echo', 'm')
    expect(asked).toHaveLength(2)
    const retried = await service(['reset', { status: 200, body: {} }])
    await expect(retried.client.messages.retry('echo', 'm')).rejects.toThrow(TypeError)
    expect(retried.asked).toHaveLength(1)
  })
  it('is repeated when its answer breaks off', async () => {
    const { asked, client } = await service(['cut', responded])
    expect(await client.messages.send('echo', hello)).toEqual(responded.body)
    expect(asked).toHaveLength(2)
    const created = await service(['cut', { status: 201, body: {} }])
    await expect(
      created.client.webhooks.create({ url: 'https://a.example', events: ['*'] }),
    ).rejects.toThrow(TypeError)
    expect(created.asked).toHaveLength(1)
  })
  it('waits as long as Retry-After says at least, and lets a long one go to the caller', async () => {
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
  it('waits as if nobody had said how long when Retry-After is a date, such as a proxy may give', async () => {
    const { baseUrl } = await service([
      { status: 503, headers: { 'retry-after': 'Sun, 06 Nov 1994 08:49:37 GMT' } },
      { status: 200, body: {} },
    ])
    const pauses: number[] = []
    const http = createHttp({ baseUrl, apiKey: 'k' }, async (ms) => void pauses.push(ms))
    await http.json({ method: 'GET', path: '/' })
    expect(pauses).toEqual([expect.toSatisfy((ms: number) => ms >= 125 && ms <= 250)])
  })
  it('waits longer each time when nobody says how long, to a limit', async () => {
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
  it('is not repeated when that would do it twice, or when it was refused', async () => {
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
  it('gives up in the end, with the last answer', async () => {
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
  it('is not led elsewhere: there a message would come as a question for the list, and be lost', async () => {
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

  it('is refused by what is no service: a page of a proxy, say, is no answer', async () => {
    const { client } = await service([
      { status: 200, body: 'Welcome', headers: { 'content-type': 'text/html' } },
    ])
    await expect(client.agents.get('echo')).rejects.toMatchObject({
      name: 'ApiError',
      status: 200,
      code: 'UNKNOWN',
    })
  })

  it('says what was wrong and where to find it in the log', async () => {
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
  it('ends when its signal aborts, also while it waits for its next try', async () => {
    const { asked, client } = await service([{ status: 503, headers: { 'retry-after': '30' } }])
    const aborter = new AbortController()
    const sending = client.messages.send('echo', hello, { signal: aborter.signal })
    while (asked.length === 0) await new Promise(setImmediate)
    setTimeout(() => aborter.abort(new Error('enough')), 20)
    await expect(sending).rejects.toThrow('enough')
    expect(asked).toHaveLength(1)
  })
})

describe('an id that somebody else has chosen', () => {
  it('is one step of the path, whatever is in it', async () => {
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
  it.each(['.', '..'])('is refused where %j would be taken for a step of the way', async (id) => {
    const { client, asked } = await service([{ status: 200, body: {} }])
    for (const asking of [
      client.sessions.erase('support', id),
      client.principals.erase(id),
      client.messages.get(id, 'm'),
    ])
      await expect(asking).rejects.toThrow('can stand in a path')
    await expect(client.messages.stream('support', id).next()).rejects.toThrow(TypeError)
    expect(asked).toEqual([])
  })
})

describe('completing a message', () => {
  const pending = { status: 202, body: { messageId: 'm', status: 'pending' } }
  const state = (state: string) => ({ status: 200, body: { messageId: 'm', state } })
  it('long-polls until the message is final', async () => {
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
  it.each(['failed', 'cancelled'])('ends with one that is %s', async (final) => {
    const { client } = await service([pending, state(final)])
    expect(await client.messages.complete('echo', hello)).toMatchObject({ state: final })
  })
  it('does not ask in a loop where nobody is held', async () => {
    const { client, asked } = await service([pending, state('running')])
    const completing = client.messages.complete('echo', hello, { timeoutMs: 600 })
    await expect(completing).rejects.toThrow(NotCompletedError)
    expect(asked.length).toBeLessThan(10)
  })
  it('ends with its signal, between two looks too', async () => {
    const { client, asked } = await service([pending, state('running')])
    const aborter = new AbortController()
    const completing = client.messages.complete('echo', hello, { signal: aborter.signal })
    while (asked.length < 3) await new Promise(setImmediate)
    aborter.abort(new Error('enough'))
    await expect(completing).rejects.toThrow('enough')
  })
  it('says which message it leaves when the service is gone', async () => {
    const { client } = await service([pending, 'reset'], { retries: 0 })
    const completing = client.messages.complete('echo', hello)
    await expect(completing).rejects.toThrow(NotCompletedError)
    await expect(completing).rejects.toMatchObject({
      messageId: 'm',
      message: 'message m has no answer yet, and the connection is lost',
    })
  })
  it.each([502, 503])(
    'says which message it leaves when a proxy answers %d in place of the service',
    async (status) => {
      const { client } = await service([pending, { status, body: 'a proxy' }], { retries: 1 })
      const completing = client.messages.complete('echo', hello)
      await expect(completing).rejects.toThrow(NotCompletedError)
      await expect(completing).rejects.toMatchObject({
        messageId: 'm',
        cause: { name: 'ApiError', status },
      })
    },
  )
  it('rejects with what the service refuses, when the message is gone', async () => {
    const { client } = await service([
      pending,
      { status: 404, body: { error: { code: 'NOT_FOUND', message: 'no such message' } } },
    ])
    await expect(client.messages.complete('echo', hello)).rejects.toMatchObject({
      name: 'ApiError',
      code: 'NOT_FOUND',
    })
  })
  // A few seconds are given on top of its time, which these have spent.
  it('waits for nobody longer than it was given, neither for a service that is busy nor for one that hangs', async () => {
    const busy = await service([{ status: 503, headers: { 'retry-after': '60' } }])
    await expect(
      busy.client.messages.complete('echo', hello, { timeoutMs: -4_900 }),
    ).rejects.toMatchObject({ name: 'TimeoutError' })
    const hangs = await service([pending, 'silence'])
    const completing = hangs.client.messages.complete('echo', hello, { timeoutMs: -4_500 })
    await expect(completing).rejects.toMatchObject({ name: 'NotCompletedError', messageId: 'm' })
  }, 3_000)
  it('may wait for as long as it takes', async () => {
    const { client } = await service([pending, state('responded')])
    expect(await client.messages.complete('echo', hello, { timeoutMs: Infinity })).toMatchObject({
      state: 'responded',
    })
  })
  it('gives up when its time is over, and says which message it leaves', async () => {
    const { client } = await service([pending, state('running')])
    const completing = client.messages.complete('echo', hello, { timeoutMs: 0 })
    await expect(completing).rejects.toThrow(NotCompletedError)
    await expect(completing).rejects.toMatchObject({ messageId: 'm' })
  })
})
