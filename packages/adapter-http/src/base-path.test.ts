import { Hono } from 'hono'
import { expect, describe, it } from 'vitest'
import { aMessage, openScene } from '../test/scene.js'

const BASE = '/messaging'

describe('basePath', () => {
  it('starts every Location header and the servers of the OpenAPI document', async () => {
    const { ask, createAgent } = await openScene({ http: { basePath: BASE } })
    const agent = await createAgent()
    const created = await ask('POST', '/v1/agents', {
      body: { name: 'other', runtime: { kind: 'function', handler: 'echo' } },
    })
    const sent = await ask('POST', `/v1/agents/${agent.id}/messages`, { body: aMessage() })
    const webhook = await ask('POST', '/v1/webhooks', {
      body: { url: 'https://receiver.example/', events: ['*'] },
    })
    expect([created, sent, webhook].map(({ headers }) => headers.get('location'))).toEqual([
      `${BASE}/v1/agents/${created.json.id}`,
      `${BASE}/v1/agents/${agent.id}/messages/${sent.json.messageId}`,
      `${BASE}/v1/webhooks/${webhook.json.id}`,
    ])
    expect((await ask('GET', '/openapi.json')).json.servers).toEqual([{ url: BASE }])
  })

  it.each([
    ['mount, which cuts the path off', 'mount'],
    ['route, which keeps the path', 'route'],
  ] as const)('leads to the message under Hono’s %s', async (_, method) => {
    const { app, createAgent, key } = await openScene({ http: { basePath: BASE } })
    const agent = await createAgent()
    const host =
      method === 'mount' ? new Hono().mount(BASE, app.fetch) : new Hono().route(BASE, app)
    const headers = { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' }
    const sent = await host.request(`${BASE}/v1/agents/${agent.id}/messages`, {
      method: 'POST',
      headers,
      body: JSON.stringify(aMessage()),
    })
    expect((await host.request(sent.headers.get('location') ?? '', { headers })).status).toBe(200)
    const document = (await (await host.request(`${BASE}/openapi.json`)).json()) as object
    expect(document).toMatchObject({ servers: [{ url: BASE }] })
  })

  it.each(['/a', '/a/b', '/v1/agents', '/f%C3%BCr', '/~user/@team'])('can be %s', async (path) => {
    const { ask } = await openScene({ http: { basePath: path } })
    expect((await ask('GET', '/openapi.json')).json.servers).toEqual([{ url: path }])
  })

  it.each([
    '',
    '/',
    'messaging',
    '/messaging/',
    '//evil.example',
    '/a//b',
    '/a b',
    '/ü',
    '/a?b',
    '/%',
  ])('cannot be %j', async (path) => {
    await expect(openScene({ http: { basePath: path } })).rejects.toThrow(
      `basePath is ${JSON.stringify(path)}. It must be a URL path that starts with "/" and does not end with "/"`,
    )
  })
})
