import { Hono } from 'hono'
import { describe, expect, it } from 'vitest'
import { aMessage, openScene, UNKNOWN_ID } from '../test/scene.js'
import type { RequestFacts } from '@org/agent-messaging-http-kit'

describe('paths and methods', () => {
  it.each([
    '/',
    '/v1',
    '/v1/',
    '/v1/nothing',
    '/v1/agents/',
    '/v1/agents/a/b',
    '/v1/agents/a/messages/b/c',
    '/v2/agents',
    '/api/cron',
    '/nothing',
  ])('GET %s answers 404 with an error body', async (path) => {
    const { ask } = await openScene()
    const answer = await ask('GET', path)
    expect(answer.status).toBe(404)
    expect(answer.json).toEqual({
      error: { code: 'NOT_FOUND', message: 'No such route' },
      requestId: answer.headers.get('x-request-id'),
    })
  })

  it.each([
    ['PUT', '/v1/agents', ['GET', 'HEAD', 'POST']],
    ['DELETE', '/v1/agents', ['GET', 'HEAD', 'POST']],
    ['POST', '/v1/agents/a', ['DELETE', 'GET', 'HEAD', 'PATCH']],
    ['GET', '/v1/agents/a/start', ['POST']],
    ['HEAD', '/v1/agents/a/stop', ['POST']],
    ['PUT', '/v1/agents/a/messages', ['GET', 'HEAD', 'POST']],
    ['DELETE', `/v1/agents/a/messages/${UNKNOWN_ID}`, ['GET', 'HEAD']],
    ['GET', `/v1/agents/a/messages/${UNKNOWN_ID}/response`, ['POST']],
    ['GET', `/v1/agents/a/messages/${UNKNOWN_ID}/cancel`, ['POST']],
    ['PUT', '/v1/agents/a/sessions', ['GET', 'HEAD']],
    ['GET', '/v1/agents/a/sessions/s', ['DELETE']],
    ['POST', '/v1/principals/u', ['DELETE', 'GET', 'HEAD']],
    ['OPTIONS', '/v1/webhooks', ['GET', 'HEAD', 'POST']],
    ['PUT', `/v1/webhooks/${UNKNOWN_ID}`, ['DELETE', 'GET', 'HEAD', 'PATCH']],
    ['POST', '/v1/deliveries', ['GET', 'HEAD']],
    ['GET', `/v1/keys/${UNKNOWN_ID}`, ['DELETE']],
    ['POST', '/healthz', ['GET', 'HEAD']],
    ['POST', '/readyz', ['GET', 'HEAD']],
  ])('%s %s is 405, Allow: %j', async (method, path, allow) => {
    const { ask } = await openScene()
    const answer = await ask(method, path)
    expect(answer.status).toBe(405)
    expect(answer.headers.get('allow')?.split(', ').sort()).toEqual(allow)
    expect(answer.json?.error.code).toBe(method === 'HEAD' ? undefined : 'METHOD_NOT_ALLOWED')
  })

  it('HEAD answers like GET, without a body', async () => {
    const { ask } = await openScene()
    const head = await ask('HEAD', '/v1/agents')
    const get = await ask('GET', '/v1/agents')
    expect([head.status, head.text, get.status]).toEqual([200, '', 200])
  })
})

describe('request ids', () => {
  it.each(['a', 'A.b_c-9', 'x'.repeat(128)])('keeps the caller’s id %j', async (id) => {
    const { ask } = await openScene()
    const answer = await ask('GET', '/v1/nothing', { headers: { 'X-Request-Id': id } })
    expect([answer.headers.get('x-request-id'), answer.json.requestId]).toEqual([id, id])
  })

  it.each(['', 'a b', 'a,b', 'é', '<script>', 'x'.repeat(129)])(
    'replaces the illegal id %j',
    async (id) => {
      const { ask } = await openScene()
      const answer = await ask('GET', '/v1/nothing', { headers: { 'X-Request-Id': id } })
      expect(answer.headers.get('x-request-id')).toBe('request-1')
      expect(answer.json.requestId).toBe('request-1')
    },
  )
})

describe('health', () => {
  it('/healthz does not depend on the storage, and /readyz does', async () => {
    const { ask, storage } = await openScene()
    expect((await ask('GET', '/readyz', { key: '' })).json).toEqual({ status: 'ok' })
    await storage.close()
    expect((await ask('GET', '/healthz', { key: '' })).json).toEqual({ status: 'ok' })
    const unready = await ask('GET', '/readyz', { key: '' })
    expect([unready.status, unready.json.error.code, unready.headers.get('retry-after')]).toEqual([
      503,
      'UNAVAILABLE',
      '1',
    ])
  })
})

describe('an unavailable storage', () => {
  it.each([
    ['/v1/agents', 'agents.list'],
    ['/v1/agents/echo', 'agents.get'],
    ['/v1/agents/echo/messages', 'agents.get'],
    ['/v1/webhooks', 'webhooks.list'],
    ['/v1/deliveries', 'deliveries.list'],
    ['/v1/keys', 'credentials.listKeys'],
  ] as const)('makes GET %s answer 503', async (path, method) => {
    const { ask, storage } = await openScene()
    storage.fail(method)
    const answer = await ask('GET', path)
    expect([answer.status, answer.json.error.code, answer.headers.get('retry-after')]).toEqual([
      503,
      'UNAVAILABLE',
      '1',
    ])
  })
})

describe('onRequest', () => {
  it('gets every request once, with its route', async () => {
    const facts: RequestFacts[] = []
    let time = 0
    const { ask, createAgent, project, storage } = await openScene({
      http: { onRequest: (fact) => facts.push(fact), now: () => (time += 5) },
    })
    const agent = await createAgent()
    facts.length = 0
    await ask('POST', `/v1/agents/${agent.id}/messages`, { body: aMessage() })
    await ask('GET', '/v1/agents', { key: 'unknown-key' })
    await ask('PUT', '/v1/agents')
    await ask('HEAD', '/healthz')
    await ask('GET', '/elsewhere')
    await ask('GET', '/schemas/events/')
    await ask('POST', '/healthz')
    await storage.close()
    await ask('GET', '/readyz')
    expect(facts.map(({ requestId: _, ...fact }) => fact)).toEqual([
      {
        method: 'POST',
        route: '/v1/agents/:id/messages',
        status: 200,
        durationMs: expect.any(Number),
        projectId: project.id,
      },
      {
        method: 'GET',
        route: '/v1/agents',
        status: 401,
        durationMs: expect.any(Number),
        errorCode: 'UNAUTHORIZED',
      },
      {
        method: 'PUT',
        route: '/v1/*',
        status: 405,
        durationMs: 5,
        errorCode: 'METHOD_NOT_ALLOWED',
      },
      { method: 'HEAD', route: '/healthz', status: 200, durationMs: 5 },
      { method: 'GET', route: '', status: 404, durationMs: 5, errorCode: 'NOT_FOUND' },
      {
        method: 'GET',
        route: '/schemas/events/*',
        status: 404,
        durationMs: 5,
        errorCode: 'NOT_FOUND',
      },
      {
        method: 'POST',
        route: '/healthz',
        status: 405,
        durationMs: 5,
        errorCode: 'METHOD_NOT_ALLOWED',
      },
      {
        method: 'GET',
        route: '/readyz',
        status: 503,
        durationMs: 5,
        errorCode: 'UNAVAILABLE',
        reason: 'the storage is closed',
      },
    ])
    expect(new Set(facts.map(({ requestId }) => requestId)).size).toBe(8)
  })
})

describe('an unexpected exception', () => {
  it.each([new Error('select secret from webhooks'), 'a string', undefined])(
    '%s gives a 500 without details, and onError gets it',
    async (thrown) => {
      const heard: unknown[] = []
      const { app, service } = await openScene({
        http: { onError: (error, requestId) => heard.push(error, requestId) },
      })
      service.host.ping = () => {
        throw thrown
      }
      const answer = await app.request('/readyz')
      expect([answer.status, heard]).toEqual([500, [thrown, 'request-1']])
      expect(await answer.json()).toEqual({
        error: { code: 'INTERNAL_ERROR', message: 'The service failed unexpectedly' },
        requestId: 'request-1',
      })
    },
  )

  it('gives the same answer inside a host’s app', async () => {
    const { app, service } = await openScene()
    service.host.ping = () => {
      throw new Error('select secret from webhooks')
    }
    const host = new Hono().route('/', app).onError((_, c) => c.text('the host’s own', 500))
    expect((await (await host.request('/readyz')).json()).error.code).toBe('INTERNAL_ERROR')
  })
})

describe('inside a host’s app', () => {
  it('the API works the same under any path', async () => {
    const { app, createAgent, key } = await openScene()
    const agent = await createAgent()
    for (const base of ['', '/messaging', '/v1/inner', '/für']) {
      const host = new Hono().route(base || '/', app)
      const headers = { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' }
      const sent = await host.request(`${base}/v1/agents/${agent.id}/messages`, {
        method: 'POST',
        headers,
        body: JSON.stringify(aMessage()),
      })
      expect(sent.status).toBe(200)
      const location = sent.headers.get('location') ?? ''
      expect(location.startsWith(`${encodeURI(base)}/v1/agents/`)).toBe(true)
      expect((await host.request(location, { headers })).status).toBe(200)
      expect((await (await host.request(`${base}/v1/nothing`)).json()).error.code).toBe('NOT_FOUND')
      const refused = await host.request(`${base}/v1/agents`, { method: 'PUT' })
      expect([refused.status, refused.headers.get('allow')]).toEqual([405, 'POST, GET, HEAD'])
      const malformed = await host.request(`${base}/v1/agents/${agent.id}/messages`, {
        method: 'POST',
        headers,
        body: '{',
      })
      expect((await malformed.json()).error.message).toBe('The body is not valid JSON')
    }
  })

  it('the API does not change the host’s other routes, errors and headers', async () => {
    const { app } = await openScene()
    const host = new Hono()
    host.use(async (c, next) => {
      await next()
      c.header('X-Host', 'yes')
    })
    host.route('/', app)
    host.get('/v2', (c) => c.text('the host’s own'))
    host.notFound((c) => c.text('the host’s own 404', 404))
    const own = await host.request('/v2')
    expect([await own.text(), own.headers.get('x-request-id')]).toEqual(['the host’s own', null])
    expect(await (await host.request('/elsewhere')).text()).toBe('the host’s own 404')
    expect((await host.request('/healthz')).headers.get('x-host')).toBe('yes')
  })
})
