import { once } from 'node:events'
import { connect } from 'node:net'
import type { HttpOptions } from '@org/agent-messaging-node'
import compression from 'compression'
import express from 'express'
import Fastify from 'fastify'
import { describe, expect, it, onTestFinished } from 'vitest'
import { listen, openDoor as open, openStream, sending, withKey } from './door.js'

describe('messaging.http', () => {
  it.each([undefined, '/messaging'])('fetch answers with the base path %s', async (basePath) => {
    const { http, key } = await open({ basePath })
    for (const path of ['', basePath ?? '']) {
      const url = `https://host.example${path}/v1/agents/echo/messages`
      const sent = await http.fetch(new Request(url, sending(key)))
      expect([sent.status, await sent.json()]).toMatchObject([200, { response: 'Hello' }])
      const location = sent.headers.get('location') ?? ''
      expect(location).toMatch(new RegExp(`^${basePath ?? ''}/v1/agents/`))
      const found = new Request(`https://host.example${location}`, withKey(key))
      expect((await http.fetch(found)).status).toBe(200)
    }
    const used = new Request(
      `https://host.example${basePath ?? ''}/v1/agents/echo/messages`,
      sending(key),
    )
    await used.text()
    const refused = (await (await http.fetch(used)).json()) as { error: { message: string } }
    expect(refused.error.message).toContain('The body was read before')
    const { fetch: detached } = http
    expect((await detached(new Request('https://host.example/other'))).status).toBe(404)
    expect((await detached(new Request('https://host.example/v1/agents'))).status).toBe(401)
  })

  it('node answers on node:http, with 404 for foreign paths or the host’s own answer', async () => {
    const { http, key } = await open({ basePath: '/messaging' })
    const { node } = http
    const alone = await listen(node)
    const hosted = await listen((request, response) =>
      node(request, response, () => response.end(`the host at ${request.url}`)),
    )
    for (const { origin } of [alone, hosted]) {
      const sent = await fetch(`${origin}/messaging/v1/agents/echo/messages`, sending(key))
      expect([sent.status, await sent.json()]).toMatchObject([200, { response: 'Hello' }])
    }
    for (const path of [
      '/',
      '/messaging',
      '/messaging/page?v1=/v1/',
      '/messagingv1/v1/',
      '/v1',
      '/v1/agents',
      '/healthz',
      '/docs',
      '/openapi.json',
      '//messaging/v1/agents',
    ]) {
      expect(await (await fetch(hosted.origin + path)).text()).toBe(`the host at ${path}`)
      expect([path, (await fetch(alone.origin + path)).status]).toEqual([path, 404])
    }
  })

  it.each([
    ['at the root', undefined],
    ['below a path that Express cuts off', '/messaging'],
  ])('node is a middleware of Express %s', async (_, basePath) => {
    const { http, key } = await open({ basePath })
    const app = express()
    if (basePath === undefined) app.use(http.node)
    else app.use(basePath, http.node)
    app.use(express.json())
    app.get('/page', (_request, response) => void response.send('a page'))
    const { origin } = await listen(app)
    const sent = await fetch(`${origin}${basePath ?? ''}/v1/agents/echo/messages`, sending(key))
    expect([sent.status, await sent.json()]).toMatchObject([200, { response: 'Hello' }])
    expect((await fetch(origin + sent.headers.get('location'), withKey(key))).status).toBe(200)
    expect(await (await fetch(`${origin}/page`)).text()).toBe('a page')
  })

  it('node takes requests of old and odd clients', async () => {
    const { http, key } = await open()
    const { origin } = await listen(express().use(http.node))
    const body = JSON.stringify({ sessionId: 'a/b', message: 'Hello' })
    const head = (version: string, more = '') =>
      `POST /v1/agents/echo/messages HTTP/${version}\r\nHost: h\r\nConnection: close\r\n` +
      `Authorization: Bearer ${key}\r\nContent-Type: application/json\r\n${more}`
    const length = `Content-Length: ${body.length}\r\n`
    expect(await answerTo(origin, `${head('1.0', length)}\r\n${body}`)).toContain('"Hello"')
    const expecting = `${head('1.1', `${length}Expect: 100-continue\r\n`)}\r\n${body}`
    expect(await answerTo(origin, expecting)).toMatch(/^HTTP\/1\.1 100 Continue.*"Hello"/s)
    const upload = connect(Number(new URL(origin).port), '127.0.0.1')
    upload.write(`${head('1.1', 'Content-Length: 1000\r\n')}\r\n${body}`, () => upload.destroy())
    await once(upload, 'close')
    const session = `${origin}/v1/agents/echo/sessions/a%2Fb`
    expect((await fetch(session, { ...withKey(key), method: 'DELETE' })).status).toBe(204)
    expect((await fetch(`${origin}/v1/agents/`, withKey(key))).status).toBe(404)
    const agents = await fetch(`${origin}/v1/agents`, { ...withKey(key), method: 'HEAD' })
    expect([agents.status, await agents.text()]).toEqual([200, ''])
  })

  it('two pairs of functions answer at once, and neither after the stop', async () => {
    const { http, messaging } = await open()
    const other = await messaging.http({ basePath: '/other' })
    const { origin } = await listen(express().use(other.node).use(http.node))
    const statuses = () =>
      Promise.all(
        ['/v1/agents', '/other/v1/agents'].map(async (path) => (await fetch(origin + path)).status),
      )
    expect(await statuses()).toEqual([401, 401])
    await messaging.stop()
    const { status } = await fetch(`${origin}/other/v1/agents`, withKey('a-key-of-twenty-letters'))
    expect(status).toBe(503)
  })

  it('node is a hook of Fastify', async () => {
    const { http, key } = await open()
    const app = Fastify()
    app.addHook('onRequest', (request, reply, done) => http.node(request.raw, reply.raw, done))
    app.post('/page', ({ body }) => ({ body }))
    const origin = await app.listen({ port: 0, host: '127.0.0.1' })
    onTestFinished(() => app.close())
    const sent = await fetch(`${origin}/v1/agents/echo/messages`, sending(key))
    expect([sent.status, await sent.json()]).toMatchObject([200, { response: 'Hello' }])
    const page = await fetch(`${origin}/page`, sending(key))
    expect(await page.json()).toEqual({ body: { sessionId: 's1', message: 'Hello' } })
  })

  it('refuses a body that a parser has read, and names the fix', async () => {
    const { http, key } = await open()
    const app = express().use(express.json()).use(http.node)
    const { origin } = await listen(app)
    const refused = await fetch(`${origin}/v1/agents/echo/messages`, sending(key))
    const { error } = (await refused.json()) as { error: { message: string } }
    expect([refused.status, error.message]).toEqual([
      500,
      'The body was read before it reached this app. Mount the app before body parsers such as express.json()',
    ])
  })

  it('compression of the host does not hold back the pieces of a stream', async () => {
    const { http, key, goOn } = await open()
    const { origin } = await listen(
      express()
        .use(compression({ threshold: 0 }))
        .use(http.node),
    )
    const { readUntil } = await openStream(origin, key)
    expect(await readUntil('one ')).not.toContain('two')
    goOn()
    expect(await readUntil('event: message')).toContain('two')
  })

  it('stop ends a stream and a wait first, and the server can close', async () => {
    const { http, key, messaging, goOn } = await open()
    const { server, origin } = await listen(http.node)
    const { readUntil, rest, messageId, url } = await openStream(origin, key)
    await readUntil('one ')
    const waiting = fetch(`${url}/${messageId}`, {
      headers: { ...withKey(key).headers, prefer: 'wait=30' },
    })
    await expect.poll(() => messaging.service.host.load().waitingCallers).toBe(1)
    const closed = once(server, 'close')
    server.close()
    const stopped = messaging.stop({ graceMs: 60_000 })
    expect(await (await waiting).json()).toMatchObject({ messageId, state: 'running' })
    expect(await rest()).not.toContain('event: message')
    goOn()
    await stopped
    server.closeIdleConnections()
    await closed
  })

  it('serves endpoints and the console', async () => {
    const { http, key } = await open({
      endpoints: ['openai', 'mcp', 'a2a', 'ag-ui'],
      console: true,
    })
    const { origin } = await listen(http.node)
    const body = JSON.stringify({ model: 'echo', input: 'Hello' })
    const answer = await fetch(`${origin}/openai/v1/responses`, { ...sending(key), body })
    expect(await answer.json()).toMatchObject({ status: 'completed' })
    const run = { threadId: 't', runId: 'r', messages: [{ role: 'user', content: 'Hello' }] }
    const asked = { ...sending(key), body: JSON.stringify(run) }
    const events = await (await fetch(`${origin}/ag-ui/v1/echo`, asked)).text()
    expect(events).toContain('"type":"RUN_FINISHED"')
    expect((await fetch(`${origin}/mcp`)).status).toBe(405)
    const page = await fetch(`${(await listen(express().use(http.node))).origin}/mcp-page`)
    expect(await page.text()).toContain('Cannot GET /mcp-page')
    expect((await fetch(`${origin}/a2a/echo/.well-known/agent-card.json`)).status).toBe(401)
    expect((await fetch(`${origin}/a2a/%00`)).status).toBe(404)
    expect(await (await fetch(`${origin}/console`)).text()).toContain('API key')
  })

  it('opens the routes of the operator and of cron with their tokens', async () => {
    const { http } = await open({ operatorKey: 'an-operator-key', cronSecret: 'a-cron-secret' })
    const ask = async (path: string, key: string) =>
      (await http.fetch(new Request(`http://h${path}`, withKey(key)))).status
    expect(await ask('/v1/projects', 'an-operator-key')).toBe(200)
    expect(await ask('/v1/projects', 'a-cron-secret')).toBe(401)
    expect(await ask('/api/cron/webhooks', 'a-cron-secret')).toBe(200)
  })

  it.each<[HttpOptions | object, string]>([
    [{ basepath: '/x' }, '"basepath" is not an option'],
    [{ basePath: 'x' }, 'basePath is "x"'],
    [
      { endpoints: ['grpc'] },
      '"grpc" is not an endpoint; the endpoints are a2a, ag-ui, ai-sdk, mcp, mcp-publish, openai',
    ],
    [{ console: true, basePath: '/x' }, 'the console works only at /console'],
  ])('refuses the options %j', async (options, problem) => {
    await expect(open(options)).rejects.toMatchObject({
      name: 'SetupError',
      message: expect.stringContaining(problem),
    })
  })
})

/** Sends the text, and returns all that the server answers until it closes the connection. */
async function answerTo(origin: string, text: string): Promise<string> {
  const socket = connect(Number(new URL(origin).port), '127.0.0.1').setEncoding('utf8')
  socket.write(text)
  let answer = ''
  for await (const part of socket) answer += part
  return answer
}
