import { PERMISSIONS } from '@org/agent-messaging-core'
import { PLATFORM_PERMISSIONS, type PlatformPermission } from '@org/agent-messaging-core/host'
import type { RequestFacts } from '@org/agent-messaging-http-kit'
import { describe, expect, it } from 'vitest'
import { openScene, UNKNOWN_ID } from '../test/scene.js'

const OPERATOR = 'the-operator-key-of-this-server'
const RECEIVER = { url: 'https://receiver.example/hook', events: ['message.responded'] }

type Operation = { readonly security?: readonly { readonly projectKey?: readonly string[] }[] }

async function openPlatform() {
  const requests: RequestFacts[] = []
  const scene = await openScene({
    publicUrl: 'https://platform.example',
    http: {
      operatorKey: OPERATOR,
      onRequest: (facts) => requests.push(facts),
      portal: { pageUrl: () => 'https://platform.example/portal', returnOrigins: [] },
    },
  })
  const { service, ask } = scene
  const platformKey = async (...permissions: PlatformPermission[]) =>
    (await service.platformKeys.create({ name: 'our product', permissions })).key
  const all = await platformKey(...PLATFORM_PERMISSIONS)
  const { json: customer } = await ask('POST', '/v1/projects', {
    key: all,
    body: { name: 'Customer 42', externalId: 'customer-42' },
  })
  return { ...scene, requests, platformKey, all, customer }
}

describe('a project with an external id', () => {
  it('is created once, and answered again with the name that it has', async () => {
    const { ask, all, customer } = await openPlatform()
    const body = { name: 'renamed', externalId: 'customer-42' }
    const again = await ask('POST', '/v1/projects', { key: all, body })
    expect([again.status, again.json]).toEqual([200, customer])
    expect(again.headers.get('idempotent-replayed')).toBe('true')
    expect(customer).toMatchObject({ name: 'Customer 42', externalId: 'customer-42' })
    const byOperator = await ask('GET', '/v1/projects/customer-42', { key: OPERATOR })
    expect(byOperator.json).toEqual(customer)
    const log = await ask('GET', '/v1/operator/audit-log?action=project.created', { key: OPERATOR })
    expect(log.json.data.filter((one: typeof customer) => one.targetId === customer.id)).toEqual([
      expect.objectContaining({ actor: expect.objectContaining({ kind: 'platform' }) }),
    ])
  })

  it.each([
    UNKNOWN_ID,
    UNKNOWN_ID.toUpperCase(),
    '.',
    '..',
    'a/b',
    'a%2Fb',
    ' ',
    '',
    'é',
    'a'.repeat(101),
  ])('cannot have the external id "%s"', async (externalId) => {
    const { ask, all } = await openPlatform()
    const refused = await ask('POST', '/v1/projects', { key: all, body: { name: 'x', externalId } })
    expect([refused.status, refused.json.error.code]).toEqual([400, 'BAD_REQUEST'])
  })

  it('is changed by a platform key, and its usage is read', async () => {
    const { ask, platformKey } = await openPlatform()
    const key = await platformKey('platform:projects')
    const sendLimits = { project: { messagesPerMinute: 60, burst: 10 } }
    const changed = await ask('PATCH', '/v1/projects/customer-42', { key, body: { sendLimits } })
    expect([changed.status, changed.json.sendLimits]).toEqual([200, sendLimits])
    expect((await ask('GET', '/v1/projects', { key })).json.data).toHaveLength(3)
    expect((await ask('GET', '/v1/projects/customer-42/usage', { key })).status).toBe(403)
    const reader = await platformKey('project:admin')
    expect((await ask('GET', '/v1/projects/customer-42/usage', { key: reader })).status).toBe(200)
    expect((await ask('GET', '/v1/projects', { key: reader })).status).toBe(403)
  })
})

describe('a platform key', () => {
  it('acts on the project of the path, by its id or its external id', async () => {
    const { ask, all, customer, service, requests } = await openPlatform()
    const made = await ask('POST', '/v1/projects/customer-42/webhooks', {
      key: all,
      body: RECEIVER,
    })
    expect([made.status, made.headers.get('location')]).toEqual([
      201,
      `/v1/projects/customer-42/webhooks/${made.json.id}`,
    ])
    expect(requests.at(-1)).toMatchObject({
      method: 'POST',
      route: '/v1/projects/:projectOfPlatform/webhooks',
      status: 201,
      projectId: customer.id,
    })
    const read = await ask('GET', made.headers.get('location') ?? '', { key: all })
    expect(read.json.id).toBe(made.json.id)
    const byId = `/v1/projects/${customer.id.toUpperCase()}/webhooks`
    expect((await ask('GET', byId, { key: all })).json.data).toHaveLength(1)
    const { data } = await service.webhooks.list({ projectId: customer.id })
    expect(data.map(({ id }) => id)).toEqual([made.json.id])
    const { data: log } = await service.auditLog.list({ projectId: customer.id })
    expect(log[0]).toMatchObject({
      action: 'webhook.created',
      actor: { kind: 'platform', name: 'our product' },
    })
  })

  it('sends messages, makes session tokens and portal links, if it can', async () => {
    const { ask, all, customer, platformKey, service } = await openPlatform()
    const base = '/v1/projects/customer-42'
    const agent = {
      name: 'bot',
      runtime: { kind: 'function', handler: 'echo' },
      desiredState: 'running',
    }
    await ask('POST', `${base}/agents`, { key: all, body: agent })
    const body = { sessionId: 's', message: 'Hello' }
    const sends = [1, 2].map(() => ask('POST', `${base}/agents/bot/messages`, { key: all, body }))
    for (const { status, json } of await Promise.all(sends))
      expect([status, json.response]).toEqual([200, 'Hello'])
    const sessions = { ids: ['s'] }
    const token = await ask('POST', `${base}/session-tokens`, { key: all, body: { sessions } })
    const path = '/v1/agents/bot/messages?sessionId=s'
    expect((await ask('GET', path, { key: token.json.token })).json.data).toHaveLength(2)
    const withPrefix = await ask('GET', base + path.slice(3), { key: token.json.token })
    expect(withPrefix.status).toBe(401)
    const portals = await platformKey('project:portals')
    const link = await ask('POST', `${base}/portal-links`, { key: portals, body: {} })
    expect(link.status).toBe(201)
    const forbidden = await ask('POST', `${base}/agents/bot/messages`, { key: portals, body })
    expect([forbidden.status, forbidden.json.error.code]).toEqual([403, 'FORBIDDEN'])
    const { data } = await service.platformKeys.list()
    const { id } = data.find(({ permissions }) => permissions.length > 1) ?? { id: '' }
    await service.platformKeys.revoke({ keyId: id })
    const revoked = await ask('POST', `${base}/agents/bot/messages`, { key: all, body })
    expect([revoked.status, revoked.json.error.code]).toEqual([401, 'UNAUTHORIZED'])
    expect((await ask('GET', path, { key: token.json.token })).status).toBe(200) // for 15 s
    expect(customer.id).toBeDefined()
  })

  it('opens each route of a project, except its keys, with the permissions of that route', async () => {
    const { ask, key: projectKey, platformKey, all } = await openPlatform()
    const { paths } = (await ask('GET', '/openapi.json', { key: '' })).json as {
      paths: Record<string, Record<string, Operation>>
    }
    const operations = Object.entries(paths).flatMap(([path, methods]) =>
      Object.entries(methods).flatMap(([method, { security = [] }]) => {
        const needed = security.flatMap(({ projectKey: of = [] }) => of)
        return needed.length === 0 ? [] : [{ method: method.toUpperCase(), path, needed }]
      }),
    )
    expect(operations.length).toBeGreaterThan(50)
    for (const { method, path, needed } of operations) {
      const below = path
        .replace('/v1/', '/v1/projects/customer-42/')
        .replaceAll(/\{\w+\}/g, UNKNOWN_ID)
      const send = async (key: string) =>
        (await ask(method, below, { key, ...(method !== 'GET' && { body: {} }) })).status
      const place = `${method} ${below}`
      if (path.startsWith('/v1/keys')) {
        expect([401, 404], place).toContain(await send(all))
        continue
      }
      for (const one of needed)
        expect([401, 403, 405], place).not.toContain(
          await send(await platformKey(one as PlatformPermission)),
        )
      const others = PLATFORM_PERMISSIONS.filter((one) => !needed.includes(one))
      expect([place, await send(await platformKey(...others))]).toEqual([place, 403])
      // The usage of a project is a route of the operator too.
      const isOfOperator = path === '/v1/usage'
      expect([place, await send(projectKey), await send('')]).toEqual([place, 401, 401])
      expect([place, await send(OPERATOR)]).toEqual([place, isOfOperator ? 200 : 401])
    }
  })

  it.each([
    ['/v1/webhooks', 403],
    ['/v1/projects/customer-43/webhooks', 404],
    [`/v1/projects/${UNKNOWN_ID}/webhooks`, 404],
    ['/v1/projects/Customer-42/webhooks', 404],
    ['/v1/projects/customer-42/nothing', 404],
    ['/v1/projects/customer-42/projects', 404],
    ['/v1/projects/customer-42/projects/customer-42/webhooks', 404],
    ['/v1/projects/customer-42/operator/audit-log', 404],
    ['/v1/projects/customer-42/platform-keys', 404],
    ['/v1/projects/customer-42/keys', 401],
    ['/v1/projects/customer-42/../../webhooks', 403],
    ['/v1/projects/customer-42/..%2fwebhooks', 404],
    ['/v1/projects/customer-42%2fwebhooks', 404],
    ['/v1/projects/customer-42/%2e%2e/webhooks', 404],
    ['/v1/projects//webhooks', 404],
    ['/v1/projects/%00/webhooks', 404],
    ['/v1/projects/%ff/webhooks', 404],
    [`/v1/projects/${'a'.repeat(100_000)}/webhooks`, 404],
    ['/v1/operator/audit-log', 401],
    ['/v1/operator/projects', 401],
    ['/v1/platform-keys', 401],
    ['/metrics', 404],
    ['/api/cron/webhooks', 401],
  ])('gets from %s only %i', async (path, status) => {
    const { ask, all } = await openPlatform()
    for (const method of ['GET', 'HEAD']) {
      if (method === 'HEAD' && path.startsWith('/api/')) continue
      const answer = await ask(method, path, { key: all })
      expect([method, answer.status]).toEqual([method, status])
    }
  })

  it('is told how the path must look', async () => {
    const { ask, all } = await openPlatform()
    const refused = await ask('GET', '/v1/webhooks', { key: all })
    expect(refused.json.error.message).toBe(
      'A platform key acts on one project at a time. Name it in the path: ' +
        '/v1/projects/{id or externalId}/…',
    )
  })

  it('gets the limits of bodies, and the methods that a path has', async () => {
    const { ask, all } = await openPlatform()
    const path = '/v1/projects/customer-42/webhooks'
    const large = await ask('POST', path, { key: all, body: { url: 'x'.repeat(3_000_000) } })
    expect(large.status).toBe(413)
    const odd = await ask('PUT', path, { key: all, body: {} })
    expect([odd.status, odd.headers.get('allow')]).toEqual([405, 'POST, GET, HEAD'])
  })

  it('ends: a revoked and an expired one are refused', async () => {
    const { ask, service, clock } = await openPlatform()
    const create = (expiresAt?: number) =>
      service.platformKeys.create({ name: 'x', permissions: ['project:read'], expiresAt })
    const [revoked, expired] = [await create(), await create(clock.now() + 1)]
    await service.platformKeys.revoke({ keyId: revoked.platformKey.id })
    await clock.advance(1)
    for (const { key } of [revoked, expired])
      expect((await ask('GET', '/v1/projects/customer-42/webhooks', { key })).status).toBe(401)
  })
})

describe('/v1/platform-keys', () => {
  it('is for the operator', async () => {
    const { ask, all, key } = await openPlatform()
    const body = { name: 'second', permissions: ['project:portals'] }
    for (const wrong of [all, key, ''])
      expect((await ask('POST', '/v1/platform-keys', { key: wrong, body })).status).toBe(401)
    const made = await ask('POST', '/v1/platform-keys', { key: OPERATOR, body })
    expect([made.status, made.json]).toEqual([201, expect.objectContaining(body)])
    const list = await ask('GET', '/v1/platform-keys', { key: OPERATOR })
    expect(list.json.data.map(({ name }: { name: string }) => name)).toEqual([
      'second',
      'our product',
    ])
    expect(list.text).not.toContain(made.json.key)
    const path = `/v1/platform-keys/${made.json.id}`
    expect((await ask('DELETE', path, { key: OPERATOR })).status).toBe(204)
    expect((await ask('DELETE', path, { key: OPERATOR })).status).toBe(204)
    const unknown = await ask('DELETE', `/v1/platform-keys/${UNKNOWN_ID}`, { key: OPERATOR })
    expect(unknown.json.error.message).toBe('No such API key')
    const log = await ask('GET', '/v1/operator/audit-log?action=key.revoked', { key: OPERATOR })
    expect(log.json.data[0]).toMatchObject({ targetName: 'second', actor: { kind: 'operator' } })
  })

  it('has a key that the service makes, whatever else the input has', async () => {
    const { service } = await openPlatform()
    const input = { name: 'x', permissions: ['project:read'] as const, key: 'guessed' }
    expect((await service.platformKeys.create(input)).key).toMatch(/^amk_/)
  })

  it('refuses an end that has passed', async () => {
    const { ask } = await openPlatform()
    const body = { name: 'p', permissions: ['project:events'], expiresAt: '2020-01-01T00:00:00Z' }
    const { status, json } = await ask('POST', '/v1/platform-keys', { key: OPERATOR, body })
    expect([status, json.error.issues]).toEqual([
      400,
      [expect.objectContaining({ path: 'expiresAt' })],
    ])
  })

  it('refuses a permission that a project has not', async () => {
    const { ask, service, project } = await openPlatform()
    const body = { name: 'x', permissions: ['platform:keys'] }
    const refused = await ask('POST', '/v1/platform-keys', { key: OPERATOR, body })
    expect(refused.status).toBe(400)
    const ofProject = {
      projectId: project.id,
      name: 'x',
      permissions: ['platform:projects'] as never,
    }
    await expect(service.keys.create(ofProject)).rejects.toThrow('permissions')
    expect(PERMISSIONS).not.toContain('platform:projects')
  })
})
