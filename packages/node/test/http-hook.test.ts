import type { Access, HttpOptions } from '@org/agent-messaging-node'
import type { Fact } from '@org/agent-messaging-core/runtime'
import { describe, expect, it } from 'vitest'
import { listen, openDoor, openStream, sending, withKey } from './door.js'

const ada: Access = {
  caller: 'ada',
  permissions: ['project:message', 'project:agents'],
  sessions: 'all',
}
const MESSAGES = 'http://host.example/v1/agents/echo/messages'

const post = (headers: Record<string, string> = {}) =>
  new Request(MESSAGES, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ sessionId: 's1', message: 'Hello' }),
  })

async function statusAndCode(answer: Response | Promise<Response>) {
  const { status, ...response } = await Promise.resolve(answer).then(async (found) => ({
    status: found.status,
    body: (await found.json()) as { error?: { code: string } },
  }))
  return [status, response.body.error?.code]
}

describe('authorize', () => {
  it('is asked before the key, with the request and the host of fetch', async () => {
    const asked: unknown[] = []
    const { http, key } = await openDoor<{ readonly user: string }>({
      basePath: '/messaging',
      authorize: ({ method, url, headers }, host) => {
        asked.push([method, url.pathname, headers.get('x-team'), host?.user])
        return host && { ...ada, caller: host.user }
      },
    })
    const url = 'http://host.example/messaging/v1/agents'
    const ask = (request: Request, host?: { readonly user: string }) => http.fetch(request, host)
    expect(
      (await ask(new Request(url, { headers: { 'x-team': 'a' } }), { user: 'ada' })).status,
    ).toBe(200)
    expect((await ask(new Request(url))).status).toBe(401)
    expect((await ask(new Request(url, withKey(key)))).status).toBe(200)
    expect(asked).toEqual([
      ['GET', '/v1/agents', 'a', 'ada'],
      ['GET', '/v1/agents', null, undefined],
      ['GET', '/v1/agents', null, undefined],
    ])
  })

  it('gets the request of Node, where logins of Express are', async () => {
    const { http } = await openDoor<{ user?: string }>({
      authorize: async (_, host) => (host?.user === undefined ? undefined : ada),
    })
    const { origin } = await listen((request, response) =>
      http.node(Object.assign(request, { user: request.headers['x-user'] }), response),
    )
    const asAda = { headers: { 'x-user': 'ada' } }
    expect((await fetch(`${origin}/v1/agents`, asAda)).status).toBe(200)
    expect((await fetch(`${origin}/v1/agents`)).status).toBe(401)
  })

  it('gets the host of a call of node, such as the request of Fastify', async () => {
    const { http } = await openDoor<{ readonly user: string }>({
      authorize: (_, host) => host && { ...ada, caller: host.user },
    })
    const { origin } = await listen((request, response) =>
      http.node(request, response, undefined, { user: 'ada' }),
    )
    expect((await fetch(`${origin}/v1/agents`)).status).toBe(200)
  })

  it('a hook that throws, or returns a wrong value, is 500 and no key is tried', async () => {
    const facts: Fact[] = []
    const telemetry = { record: (fact: Fact) => void facts.push(fact) }
    for (const authorize of [
      () => {
        throw new Error('the login is away')
      },
      () => Promise.reject('a text'),
      () => ({ ...ada, sessions: undefined }) as never,
      () => ({ ...ada, sessions: { prefix: 'user-1' } }),
      () => ({ ...ada, sessions: { prefix: '' } }),
      () => true as never,
    ] satisfies HttpOptions['authorize'][]) {
      const { http, key } = await openDoor(
        { authorize, endpoints: ['openai', 'mcp', 'a2a', 'ai-sdk'] },
        { telemetry },
      )
      for (const [path, method] of [
        ['/v1/agents', 'GET'],
        ['/openai/v1/models', 'GET'],
        ['/ai-sdk/v1/echo/chat/messages', 'GET'],
        ['/mcp', 'POST'],
        ['/a2a/echo/tasks', 'GET'],
      ] as const) {
        const request = new Request(`http://h${path}`, { method, ...withKey(key) })
        expect([path, (await http.fetch(request)).status]).toEqual([path, 500])
      }
    }
    const reasons = facts.flatMap(({ worker, reason }) =>
      worker === 'http' ? [JSON.stringify(reason)] : [],
    )
    expect(reasons[0]).toContain('the login is away')
    expect(reasons).toHaveLength(30)
  })

  it('gets a signal that tells when the caller leaves', async () => {
    const left = Promise.withResolvers<void>()
    const isAsked = Promise.withResolvers<void>()
    const { http } = await openDoor({
      authorize: async ({ signal }) => {
        signal.addEventListener('abort', () => left.resolve())
        isAsked.resolve()
        await left.promise
        return undefined
      },
    })
    const { origin } = await listen(http.node)
    const aborter = new AbortController()
    const asking = fetch(`${origin}/v1/agents`, { signal: aborter.signal })
    await isAsked.promise
    aborter.abort()
    await expect(asking).rejects.toThrow('aborted')
    await left.promise
  })

  it('guards only the routes that take an API key', async () => {
    let asked = 0
    const { http } = await openDoor({
      authorize: () => {
        asked++
        return ada
      },
      operatorKey: 'an-operator-key',
      cronSecret: 'a-cron-secret',
    })
    const ask = async (path: string, key: string) =>
      (await http.fetch(new Request(`http://h${path}`, withKey(key)))).status
    expect(await ask('/healthz', '')).toBe(200)
    expect(await ask('/v1/projects', 'an-operator-key')).toBe(200)
    expect(await ask('/v1/projects', 'another')).toBe(401)
    expect(await ask('/api/cron/webhooks', 'another')).toBe(401)
    expect(await ask('/inputs/x/y', '')).toBe(404)
    expect(asked).toBe(0)
  })

  it('gives the permissions that it names, and no others', async () => {
    const { http } = await openDoor({
      authorize: () => ({ ...ada, permissions: ['project:message'] }),
    })
    expect(await statusAndCode(http.fetch(post()))).toEqual([200, undefined])
    const foreign = http.fetch(new Request('http://host.example/v1/agents'))
    expect(await statusAndCode(foreign)).toEqual([403, 'FORBIDDEN'])
  })

  it('names the user in the audit log', async () => {
    const permissions = ['project:message', 'project:audit', 'project:agents'] as const
    const { http } = await openDoor({ authorize: () => ({ ...ada, permissions }) })
    const stop = new Request('http://host.example/v1/agents/echo/stop', { method: 'POST' })
    expect((await http.fetch(stop)).status).toBe(200)
    const log = await http.fetch(new Request('http://host.example/v1/audit-log?limit=1'))
    expect(await log.json()).toMatchObject({
      data: [{ action: 'agent.stopped', actor: { kind: 'user', id: 'ada' } }],
    })
  })

  it('is asked again by a stream and a wait, which end when it returns nothing', async () => {
    let isIn = true
    const { http, messaging } = await openDoor(
      { authorize: () => (isIn ? ada : undefined) },
      { policy: { stream: { ...STREAM, keyCheckMs: 1 } } },
    )
    const { origin } = await listen(http.node)
    const { readUntil, rest, messageId, url } = await openStream(origin, '')
    await readUntil('one ')
    const waiting = fetch(`${url}/${messageId}`, { headers: { prefer: 'wait=30' } })
    await expect.poll(() => messaging.service.host.load().waitingCallers).toBe(1)
    isIn = false
    expect(await rest()).not.toContain('event: message')
    expect((await waiting).status).toBe(401)
    expect((await fetch(`${url}/${messageId}`)).status).toBe(401)
  })

  it('a finished answer is 503 while the hook throws, and its repetition succeeds', async () => {
    let isAway = false
    const facts: Fact[] = []
    const { http, messaging, goOn } = await openDoor(
      {
        authorize: () => {
          if (isAway) throw new Error('the login is away')
          return ada
        },
      },
      {
        policy: { stream: { ...STREAM, keyCheckMs: 0 } },
        telemetry: { record: (fact) => void facts.push(fact) },
      },
    )
    const send = () =>
      http.fetch(
        new Request(
          'http://h/v1/agents/slow/messages',
          sending('', 'go', { 'idempotency-key': 'k' }),
        ),
      )
    const waiting = send()
    await expect.poll(() => messaging.service.host.load().waitingCallers).toBe(1)
    isAway = true
    goOn()
    expect(await statusAndCode(waiting)).toEqual([503, 'UNAVAILABLE'])
    expect(JSON.stringify(facts)).toContain('the login is away')
    isAway = false
    expect(await statusAndCode(send())).toEqual([200, undefined])
  })

  it('a stream that a late refusal replaces is closed', async () => {
    let asked = 0
    const { http, messaging, goOn } = await openDoor(
      { authorize: () => (asked++ === 0 ? ada : undefined) },
      { policy: { stream: { ...STREAM, keyCheckMs: 0, maxPerProject: 1 } } },
    )
    const { messages } = messaging.service
    const agent = { projectId: messaging.projectId, agent: 'slow' }
    const { message } = await messages.send({ ...agent, sessionId: 's', message: 'go', waitMs: 0 })
    const url = `http://h/v1/agents/slow/messages/${message.id}/stream`
    expect((await http.fetch(new Request(url))).status).toBe(401)
    expect(asked).toBeGreaterThan(1)
    const stream = await messages.stream({ ...agent, messageId: message.id })
    expect(stream).toBeDefined()
    await stream?.return?.()
    goOn()
  })

  it('an answer comes after a wait only if the key is still valid', async () => {
    const { http, messaging, keyWith, goOn } = await openDoor(
      { endpoints: ['openai', 'mcp', 'a2a'] },
      { policy: { stream: { ...STREAM, keyCheckMs: 1 } } },
    )
    const { projectId, service } = messaging
    const change = { a2a: { enabled: true } }
    await service.agents.update({ projectId, agent: 'slow', change })
    const key = await keyWith(['project:message'])
    const post = (path: string, body: object, more: Record<string, string> = {}) =>
      http.fetch(
        new Request(`http://h${path}`, {
          method: 'POST',
          headers: {
            ...sending(key).headers,
            accept: 'application/json, text/event-stream',
            'a2a-version': '1.0',
            ...more,
          },
          body: JSON.stringify(body),
        }),
      )
    const MODERN = '2026-07-28'
    const _meta = {
      'io.modelcontextprotocol/protocolVersion': MODERN,
      'io.modelcontextprotocol/clientCapabilities': {},
    }
    const toolCall = (more: object) => ({
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name: 'send_message', arguments: { agent: 'slow', message: 'go' }, ...more },
    })
    const answers = [
      post('/v1/agents/slow/messages', { sessionId: 's', message: 'go' }),
      post('/openai/v1/responses', { model: 'slow', input: 'go' }),
      post('/mcp', toolCall({})),
      post('/mcp', toolCall({ _meta }), {
        'mcp-protocol-version': MODERN,
        'mcp-method': 'tools/call',
        'mcp-name': 'send_message',
      }),
      post('/a2a/slow/message:send', {
        message: { role: 'ROLE_USER', messageId: 'm', parts: [{ text: 'go' }] },
      }),
    ]
    await expect.poll(() => service.host.load().waitingCallers).toBe(answers.length)
    const { data } = await service.keys.list({ projectId, limit: 10 })
    for (const { id } of data) await service.keys.revoke({ projectId, keyId: id })
    goOn()
    const statuses = (await Promise.all(answers)).map(({ status }) => status)
    expect(statuses).toEqual([401, 401, 401, 401, 401])
  })
})

const STREAM = { bufferLength: 1_000_000, heartbeatMs: 10, maxPerProject: 100, stalledMs: 60_000 }

describe('requests of web pages by cookies', () => {
  const own = 'http://host.example'
  const app = 'https://app.example'

  it.each<[string, Record<string, string>, number]>([
    ['no browser', {}, 200],
    ['a page of the same origin', { 'sec-fetch-site': 'same-origin', origin: own }, 200],
    ['an old browser on the same origin', { origin: own }, 200],
    ['the same host behind a proxy with TLS', { origin: 'https://host.example' }, 200],
    ['the public URL', { origin: 'https://public.example' }, 200],
    ['an origin of cors', { 'sec-fetch-site': 'cross-site', origin: app }, 200],
    ['another site', { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' }, 403],
    ['another site without Origin', { 'sec-fetch-site': 'cross-site' }, 403],
    [
      'a sister of the origin',
      { 'sec-fetch-site': 'same-site', origin: 'http://x.host.example' },
      403,
    ],
    ['another port', { origin: 'http://host.example:8080' }, 403],
    ['a page without an origin', { origin: 'null' }, 403],
    ['an origin that starts like ours', { origin: 'http://host.example.evil' }, 403],
  ])('%s', async (_, headers, status) => {
    const { http, key } = await openDoor(
      {
        authorize: ({ headers: sent }) => (sent.has('cookie') ? ada : undefined),
        cors: { origins: [app] },
      },
      { publicUrl: 'https://public.example/base' },
    )
    expect((await http.fetch(post({ ...headers, cookie: 'a=1' }))).status).toBe(status)
    const read = new Request(MESSAGES, { headers: { ...headers, cookie: 'a=1' } })
    expect((await http.fetch(read)).status).toBe(200)
    const byKey = post({ ...headers, authorization: `Bearer ${key}` })
    expect((await http.fetch(byKey)).status).toBe(200)
  })
})

describe('cors', () => {
  const preflight = (origin: string) =>
    new Request(MESSAGES, {
      method: 'OPTIONS',
      headers: {
        origin,
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'authorization,content-type',
      },
    })
  const headersOf = ({ headers }: Response) =>
    Object.fromEntries([...headers].filter(([name]) => name.startsWith('access-control')))

  it('is off by default', async () => {
    const { http, key } = await openDoor()
    expect((await http.fetch(preflight('https://app.example'))).status).toBe(405)
    const sent = await http.fetch(
      new Request(MESSAGES, sending(key, 'Hello', { origin: 'https://app.example' })),
    )
    expect(headersOf(sent)).toEqual({})
  })

  it('lets pages of the origins read, and no others', async () => {
    const { http, key } = await openDoor({
      cors: { origins: ['https://app.example'] },
      endpoints: ['mcp', 'openai'],
      console: true,
    })
    const page = { headers: { origin: 'https://app.example' } }
    const console = await http.fetch(new Request('http://host.example/console/sign-in', page))
    expect(headersOf(console)).toEqual({})
    const allowed = await http.fetch(preflight('https://app.example'))
    expect([allowed.status, headersOf(allowed)]).toMatchObject([
      204,
      {
        'access-control-allow-origin': 'https://app.example',
        'access-control-allow-headers': 'authorization,content-type',
        'access-control-allow-methods': expect.stringContaining('DELETE'),
      },
    ])
    expect(headersOf(allowed)).not.toHaveProperty('access-control-allow-credentials')
    for (const [path, status] of [
      ['/v1/agents', 200],
      ['/openai/v1/models', 200],
      ['/v1/nothing', 404],
    ] as const) {
      const ask = (origin: string) =>
        http.fetch(
          new Request(`http://host.example${path}`, {
            headers: { ...withKey(key).headers, origin },
          }),
        )
      const answer = await ask('https://app.example')
      expect(answer.status).toBe(status)
      expect(headersOf(answer)).toMatchObject({
        'access-control-allow-origin': 'https://app.example',
        'access-control-expose-headers': expect.stringContaining('Location'),
      })
      expect(headersOf(await ask('https://evil.example'))).not.toHaveProperty(
        'access-control-allow-origin',
      )
    }
    const mcp = (origin: string) =>
      http.fetch(
        new Request('http://host.example/mcp', {
          method: 'POST',
          headers: {
            ...withKey(key).headers,
            origin,
            accept: 'application/json, text/event-stream',
            'content-type': 'application/json',
          },
          body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' }),
        }),
      )
    expect((await mcp('https://app.example')).status).toBe(200)
    expect((await mcp('https://evil.example')).status).toBe(403)
  })

  it('lets browsers send cookies if the host has a login of its own', async () => {
    const { http } = await openDoor({
      authorize: () => ada,
      cors: { origins: ['https://app.example'] },
    })
    expect(headersOf(await http.fetch(preflight('https://app.example')))).toMatchObject({
      'access-control-allow-credentials': 'true',
    })
  })

  it.each(['*', 'app.example', 'https://app.example/', 'https://app.example/path'])(
    'refuses the origin %j',
    async (origin) => {
      await expect(openDoor({ cors: { origins: [origin] } })).rejects.toMatchObject({
        name: 'SetupError',
        message: expect.stringContaining(`cors.origins has ${JSON.stringify(origin)}`),
      })
    },
  )

  it.each([
    [{ cors: { origin: ['https://app.example'] } }, 'did you mean origins?'],
    [{ cors: { origins: 'https://app.example' } }, 'cors must be { origins:'],
    [{ cors: true }, 'cors must be { origins:'],
    [{ authorize: true }, 'authorize must be a function'],
  ])('refuses the options %j', async (options, words) => {
    await expect(openDoor(options as never)).rejects.toMatchObject({
      name: 'SetupError',
      message: expect.stringContaining(words),
    })
  })
})
