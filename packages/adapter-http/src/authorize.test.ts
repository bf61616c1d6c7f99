import { PERMISSIONS, type Permission } from '@org/agent-messaging-core'
import { refusal, type Requester, type Authenticate } from '@org/agent-messaging-http-kit'
import { anApiKey } from '@org/agent-messaging-testing'
import { describe, expect, it } from 'vitest'
import { aMessage, openScene, UNKNOWN_ID, type Scene } from '../test/scene.js'

const get = async ({ app }: Scene, authorization: string | undefined, path = '/v1/agents') => {
  const response = await app.request(path, {
    ...(authorization !== undefined && { headers: { Authorization: authorization } }),
  })
  return {
    status: response.status,
    challenge: response.headers.get('www-authenticate'),
    error: (await response.json()).error,
  }
}

describe('A: authentication', () => {
  it('asks the host instead of reading API keys, if the host authenticates', async () => {
    const access: Requester = {
      projectId: UNKNOWN_ID,
      permissions: ['project:agents'],
      actor: { kind: 'host' },
      sentBy: undefined,
      confirm: async () => undefined,
      learn: () => undefined,
      recheck: async () => undefined,
      since: 0,
    }
    const authenticate: Authenticate = async ({ headers }) =>
      headers.get('authorization') === 'Session s-1' ? access : refusal({ kind: 'unauthorized' })
    const scene = await openScene({ http: { authenticate } })
    expect((await get(scene, 'Session s-1')).status).toBe(200)
    expect((await get(scene, 'Session s-1', '/v1/webhooks')).error.code).toBe('FORBIDDEN')
    expect((await get(scene, `Bearer ${scene.key}`)).status).toBe(401)
  })

  it('accepts the scheme in any case', async () => {
    const scene = await openScene()
    for (const scheme of ['Bearer', 'bearer', 'BEARER', 'bEaReR'])
      expect((await get(scene, `${scheme} ${scene.key}`)).status).toBe(200)
  })

  it.each([
    ['no header', () => undefined],
    ['an empty header', () => ''],
    ['only the scheme', () => 'Bearer'],
    ['Basic', (key: string) => `Basic ${btoa(`user:${key}`)}`],
    ['another scheme', (key: string) => `Token ${key}`],
    ['no scheme', (key: string) => key],
    ['two spaces', (key: string) => `Bearer  ${key}`],
    ['a tab', (key: string) => `Bearer\t${key}`],
    ['two headers', (key: string) => `Bearer ${key}, Bearer ${key}`],
    ['two headers, the second of another scheme', (key: string) => `Bearer ${key}, Basic dTpw`],
    ['a comma', (key: string) => `Bearer ${key},`],
    ['a word after the key', (key: string) => `Bearer ${key} x`],
    ['non-ASCII', (key: string) => `Bearer ${key}é`],
    [
      'a mistyped key',
      (key: string) => `Bearer ${key.slice(0, -1)}${key.endsWith('0') ? '1' : '0'}`,
    ],
    ['a cut key', (key: string) => `Bearer ${key.slice(0, -1)}`],
    ['the key in lower case', (key: string) => `Bearer ${key.toLowerCase()}`],
    ['an unknown key in another form', () => 'Bearer some-bootstrap-key-nobody-made'],
  ])('refuses %s with 401', async (_, authorization) => {
    const scene = await openScene()
    const refused = await get(scene, authorization(scene.key))
    expect(refused).toEqual({
      status: 401,
      challenge: 'Bearer',
      error: { code: 'UNAUTHORIZED', message: expect.any(String) },
    })
  })

  it('gives unknown, revoked and expired keys the same message', async () => {
    const scene = await openScene()
    const { ask, clock, keyWith, project } = scene
    const revoked = await keyWith(PERMISSIONS)
    await ask('DELETE', `/v1/keys/${revoked.apiKey.id}`)
    const expired = await keyWith(PERMISSIONS, project.id, clock.now() + 1)
    expect((await get(scene, `Bearer ${expired.key}`)).status).toBe(200)
    await clock.advance(1)
    const unknown = await get(scene, 'Bearer a-key-that-was-never-made')
    expect(await get(scene, `Bearer ${revoked.key}`)).toEqual(unknown)
    expect(await get(scene, `Bearer ${expired.key}`)).toEqual(unknown)
    expect(unknown.status).toBe(401)
  })

  it('refuses a key that another process revoked, also for a malformed request', async () => {
    const { ask, keyWith, storage, project, createAgent } = await openScene()
    const { key, apiKey } = await keyWith(['project:message'])
    const messages = `/v1/agents/${(await createAgent()).id}/messages`
    const body = aMessage()
    expect((await ask('POST', messages, { key, body })).status).toBe(200)
    await storage.reopen().credentials.revokeKey(project.id, apiKey.id, 1)
    for (const [path, refused] of [
      [messages, '{'],
      [messages, {}],
      ['/v1/agents/unknown/messages', body],
      [messages, body],
    ] as const)
      expect(await ask('POST', path, { key, body: refused })).toMatchObject({
        status: 401,
        json: { error: { code: 'UNAUTHORIZED' } },
      })
  })

  it('does not read the storage for a mistyped key', async () => {
    const scene = await openScene()
    scene.storage.fail('credentials.findByDigest')
    expect((await get(scene, `Bearer amk_${'A'.repeat(38)}`)).status).toBe(401)
    expect((await get(scene, `Bearer ${scene.key}`)).status).toBe(503)
  })

  it('never shows the key in an answer', async () => {
    const { ask, key } = await openScene()
    for (const path of ['/v1/keys', '/v1/nothing', `/v1/agents/${key}`])
      expect((await ask('GET', path)).text).not.toContain(key)
  })
})

const routes: readonly (readonly [method: string, path: string, permission: Permission])[] = [
  ['POST', '/v1/agents/a/messages', 'project:message'],
  ['GET', '/v1/agents/a/messages', 'project:message'],
  ['GET', `/v1/agents/a/messages/${UNKNOWN_ID}`, 'project:message'],
  ['POST', '/v1/agents', 'project:agents'],
  ['GET', '/v1/agents', 'project:agents'],
  ['GET', '/v1/agents/a', 'project:agents'],
  ['PATCH', '/v1/agents/a', 'project:agents'],
  ['DELETE', '/v1/agents/a', 'project:agents'],
  ['POST', '/v1/agents/a/start', 'project:agents'],
  ['POST', '/v1/agents/a/stop', 'project:agents'],
  ['POST', '/v1/webhooks', 'project:webhooks'],
  ['GET', '/v1/webhooks', 'project:webhooks'],
  ['GET', `/v1/webhooks/${UNKNOWN_ID}`, 'project:webhooks'],
  ['PATCH', `/v1/webhooks/${UNKNOWN_ID}`, 'project:webhooks'],
  ['DELETE', `/v1/webhooks/${UNKNOWN_ID}`, 'project:webhooks'],
  ['GET', '/v1/deliveries', 'project:webhooks'],
  ['POST', '/v1/recoveries', 'project:webhooks'],
  ['GET', '/v1/recoveries', 'project:webhooks'],
  [`GET`, `/v1/recoveries/${UNKNOWN_ID}`, 'project:webhooks'],
  [`POST`, `/v1/recoveries/${UNKNOWN_ID}/cancel`, 'project:webhooks'],
  ['GET', `/v1/deliveries/${UNKNOWN_ID}`, 'project:webhooks'],
  ['POST', '/v1/keys', 'project:admin'],
  ['GET', '/v1/keys', 'project:admin'],
  ['DELETE', `/v1/keys/${UNKNOWN_ID}`, 'project:admin'],
]

describe('A: permissions', () => {
  it.each(routes)(
    '%s %s requires %s, before it reads the body',
    async (method, path, permission) => {
      const { ask, keyWith } = await openScene()
      const isRead = method === 'GET'
      const opens = (one: Permission) => one === permission || (isRead && one === 'project:read')
      const others = await keyWith(PERMISSIONS.filter((one) => !opens(one)))
      const refused = await ask(method, path, { key: others.key })
      expect([refused.status, refused.json.error.code]).toEqual([403, 'FORBIDDEN'])
      expect(refused.json.error.message).toContain(permission)
      for (const one of PERMISSIONS.filter(opens)) {
        const { key } = await keyWith([one])
        expect([401, 403]).not.toContain((await ask(method, path, { key })).status)
      }
      expect((await ask(method, path, { key: '' })).status).toBe(401)
    },
  )

  it.each([
    'project:messages',
    'project:messag',
    'Project:Message',
    'project:message ',
    'project:*',
    '*',
    'message',
    'project:admin',
  ])('the permission %j does not include project:message', async (permission) => {
    const { ask, createAgent, crypto, project, storage } = await openScene()
    const agent = await createAgent()
    const apiKey = anApiKey({ projectId: project.id, permissions: [permission as Permission] })
    await storage.credentials.createKey(
      apiKey,
      crypto.sha256('a-near-miss-key-of-the-project'),
      1_000,
    )
    const refused = await ask('POST', `/v1/agents/${agent.id}/messages`, {
      key: 'a-near-miss-key-of-the-project',
      body: aMessage(),
    })
    expect(refused.status).toBe(403)
  })
})

describe('A: other projects', () => {
  it('get the same 404 as for a missing agent, message, webhook, delivery or key', async () => {
    const { ask, clock, createAgent, otherKey } = await openScene()
    const webhook = (
      await ask('POST', '/v1/webhooks', {
        body: { url: 'https://receiver.example/', events: ['*'] },
      })
    ).json
    const agent = await createAgent()
    const message = (await ask('POST', `/v1/agents/${agent.id}/messages`, { body: aMessage() }))
      .json
    await clock.advance(0)
    const delivery = (await ask('GET', '/v1/deliveries')).json.data[0]
    const apiKey = (await ask('GET', '/v1/keys')).json.data[0]

    for (const [method, path] of [
      ['GET', `/v1/agents/${agent.id}`],
      ['DELETE', `/v1/agents/${agent.id}`],
      ['POST', `/v1/agents/${agent.id}/stop`],
      ['GET', `/v1/agents/${agent.id}/messages/${message.messageId}`],
      ['GET', `/v1/webhooks/${webhook.id}`],
      ['DELETE', `/v1/webhooks/${webhook.id}`],
      ['GET', `/v1/deliveries/${delivery.id}`],
      ['DELETE', `/v1/keys/${apiKey.id}`],
    ] as const) {
      const foreign = await ask(method, path, { key: otherKey })
      const missing = await ask(
        method,
        path.replace(/[^/]+$/, (last) => (last === 'stop' ? last : UNKNOWN_ID)),
        { key: otherKey },
      )
      expect([foreign.status, foreign.json.error]).toEqual([404, missing.json.error])
    }
    for (const path of ['/v1/agents', '/v1/webhooks', '/v1/deliveries']) {
      expect((await ask('GET', path, { key: otherKey })).json.data).toEqual([])
      expect((await ask('GET', path)).json.data).toHaveLength(path === '/v1/deliveries' ? 2 : 1)
    }
  })
})
