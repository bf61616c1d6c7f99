import { PERMISSIONS } from '@org/agent-messaging-core'
import { describe, expect, it } from 'vitest'
import { CRON_SECRET, openScene } from '../../test/scene.js'

const OPERATOR_KEY = 'an-operator-key-that-nobody-guesses'
const hook = { url: 'https://user:pass@receiver.example/?token=hidden', events: ['*'] }

const openWithOperator = async () => {
  const scene = await openScene({ http: { operatorKey: OPERATOR_KEY } })
  const { data } = await scene.service.keys.list({ projectId: scene.project.id, limit: 1 })
  return { ...scene, keyId: data[0]?.id }
}

describe('GET /v1/audit-log', () => {
  it('names the key, the action, the row and the changed fields, and values of a list', async () => {
    const { ask, keyId, project } = await openWithOperator()
    const webhook = (
      await ask('POST', '/v1/webhooks', { body: { ...hook, url: 'https://a.example' } })
    ).json
    await ask('PATCH', `/v1/webhooks/${webhook.id}`, {
      body: { url: 'https://a.example/?token=hidden', headers: { 'x-key': 'hidden' } },
    })
    await ask('POST', `/v1/webhooks/${webhook.id}/rotate-secret`, { body: {} })
    await ask('DELETE', `/v1/webhooks/${webhook.id}`)
    const log = await ask('GET', `/v1/audit-log?targetId=${webhook.id}`)
    expect(log.json.data.map(({ action }: { action: string }) => action)).toEqual([
      'webhook.deleted',
      'webhook.secret_rotated',
      'webhook.updated',
      'webhook.created',
    ])
    expect(log.json.data[2]).toEqual({
      id: expect.any(String),
      projectId: project.id,
      actor: { kind: 'key', id: keyId, name: 'a key' },
      action: 'webhook.updated',
      targetId: webhook.id,
      targetName: 'https://a.example',
      fields: ['headers', 'url'],
      createdAt: '2030-01-01T00:00:00.000Z',
    })
    expect(log.text).not.toMatch(/hidden|whsec_/)
  })

  it('tells a pause from a resumption, with the old and the new value', async () => {
    const { ask } = await openWithOperator()
    const { id } = (await ask('POST', '/v1/webhooks', { body: hook })).json
    for (const body of [{ paused: true }, { paused: false }, { paused: true, events: ['*'] }])
      await ask('PATCH', `/v1/webhooks/${id}`, { body })
    const { data } = (await ask('GET', `/v1/audit-log?targetId=${id}`)).json
    expect(data).toMatchObject([
      { action: 'webhook.updated', changes: { paused: { from: false, to: true } } },
      { action: 'webhook.resumed', changes: { paused: { from: true, to: false } } },
      { action: 'webhook.paused', changes: { paused: { from: false, to: true } } },
      { action: 'webhook.created' },
    ])
  })

  it('records changes of agents, keys and recoveries', async () => {
    const { ask, createAgent } = await openWithOperator()
    const agent = await createAgent()
    await ask('PATCH', `/v1/agents/${agent.id}`, { body: { concurrency: 2 } })
    await ask('POST', `/v1/agents/${agent.id}/stop`)
    await ask('POST', `/v1/agents/${agent.id}/start`)
    await ask('DELETE', `/v1/agents/${agent.id}`)
    const key = { name: 'k', permissions: ['project:message'] }
    const { id } = (await ask('POST', '/v1/keys', { body: key })).json
    await ask('DELETE', `/v1/keys/${id}`)
    await ask('POST', '/v1/recoveries')
    const { data } = (await ask('GET', '/v1/audit-log?actor=key')).json
    expect(data.map(({ action }: { action: string }) => action)).toEqual([
      'recovery.started',
      'key.revoked',
      'key.created',
      'agent.deleted',
      'agent.started',
      'agent.stopped',
      'agent.updated',
      'agent.created',
    ])
    const revoked = (await ask('GET', '/v1/audit-log?action=key.revoked')).json.data
    expect(revoked).toMatchObject([{ targetId: id }])
  })

  it('records changes of messages, deliveries, sessions and principals, without their ids', async () => {
    const { ask, clock, createSlowAgent, keyId, project } = await openWithOperator()
    const agent = await createSlowAgent()
    await clock.advance(0)
    const body = { ...hook, paused: true }
    const webhook = (await ask('POST', '/v1/webhooks', { body })).json
    const delivery = (await ask('POST', `/v1/webhooks/${webhook.id}/test`)).json
    await ask('POST', `/v1/deliveries/${delivery.id}/cancel`)
    await ask('POST', `/v1/deliveries/${delivery.id}/redeliver`)
    await ask('POST', `/v1/deliveries/${delivery.id}/skip`)
    const executionPrincipal = { type: 'end_user', endUserId: 'hidden-person' }
    const send = async (sessionId: string): Promise<string> => {
      const body = { sessionId, message: 'hello', executionPrincipal }
      const sent = { body, headers: { Prefer: 'respond-async' } }
      return (await ask('POST', `/v1/agents/${agent.id}/messages`, sent)).json.messageId
    }
    const messageId = await send('hidden-session')
    await send('another-session')
    await ask('POST', `/v1/agents/${agent.id}/messages/${messageId}/cancel`)
    await ask('POST', `/v1/agents/${agent.id}/messages/${messageId}/retry`)
    await ask('DELETE', `/v1/agents/${agent.id}/sessions/hidden-session?force=true`)
    await ask('DELETE', '/v1/principals/hidden-person?force=true')
    const log = await ask('GET', '/v1/audit-log?actor=key')
    const entries = log.json.data.map(({ action, targetId, count }: Record<string, unknown>) => [
      action,
      targetId,
      count,
    ])
    expect(entries.slice(0, 7)).toEqual([
      ['principal.erased', project.id, 1],
      ['session.erased', agent.id, undefined],
      ['message.retried', messageId, undefined],
      ['message.cancelled', messageId, undefined],
      ['delivery.cancelled', delivery.id, undefined],
      ['delivery.redelivered', delivery.id, undefined],
      ['delivery.cancelled', delivery.id, undefined],
    ])
    expect(log.json.data[0].actor).toEqual({ kind: 'key', id: keyId, name: 'a key' })
    expect(log.text).not.toContain('hidden')
  })

  it('gives pages', async () => {
    const { ask } = await openWithOperator()
    const first = (await ask('GET', '/v1/audit-log?limit=1')).json
    const second = (await ask('GET', `/v1/audit-log?limit=1&cursor=${first.nextCursor}`)).json
    expect([first.data[0].action, second.data[0].action]).toEqual([
      'key.created',
      'project.created',
    ])
  })

  it('shows no change of another project, and needs its own permission', async () => {
    const { ask, keyWith, otherKey, project } = await openWithOperator()
    const others = await ask('GET', '/v1/audit-log', { key: otherKey })
    expect(others.json.data).toHaveLength(2)
    expect(others.text).not.toContain(project.id)
    const all = PERMISSIONS.filter((one) => one !== 'project:audit' && one !== 'project:read')
    const { key } = await keyWith(all)
    expect((await ask('GET', '/v1/audit-log', { key })).status).toBe(403)
    const viewer = await keyWith(['project:read'])
    expect((await ask('GET', '/v1/audit-log', { key: viewer.key })).status).toBe(200)
    expect((await ask('GET', '/v1/audit-log?action=nothing')).status).toBe(400)
  })
})

describe('GET /v1/operator/audit-log', () => {
  it('shows the changes of all projects, or of one', async () => {
    const { ask, project } = await openWithOperator()
    const list = (query = '') => ask('GET', `/v1/operator/audit-log${query}`, { key: OPERATOR_KEY })
    expect((await list()).json.data).toHaveLength(4)
    expect((await list(`?projectId=${project.id}`)).json.data).toHaveLength(2)
  })
})

const OPERATOR_ROUTES = [
  ['POST', '/v1/projects'],
  ['GET', '/v1/projects'],
  ['GET', '/v1/projects/x'],
  ['POST', '/v1/projects/x/keys'],
  ['GET', '/v1/projects/x/keys'],
  ['DELETE', '/v1/projects/x/keys/x'],
  ['GET', '/v1/operator/audit-log'],
] as const

describe('the operator key', () => {
  it.each(OPERATOR_ROUTES)('is the only credential of %s %s', async (method, path) => {
    const { ask, key } = await openWithOperator()
    for (const wrong of ['', key, CRON_SECRET, `${OPERATOR_KEY}x`])
      expect((await ask(method, path, { key: wrong })).status).toBe(401)
  })

  it.each(OPERATOR_ROUTES)('is refused by %s %s if none is set', async (method, path) => {
    const { ask } = await openScene()
    for (const wrong of ['', OPERATOR_KEY])
      expect((await ask(method, path, { key: wrong })).status).toBe(401)
  })

  it.each([
    ['GET', '/v1/webhooks'],
    ['GET', '/v1/keys'],
    ['GET', '/v1/audit-log'],
    ['GET', '/v1/messages'],
    ['POST', '/v1/agents'],
  ])('is refused by the project route %s %s', async (method, path) => {
    const { ask } = await openWithOperator()
    expect((await ask(method, path, { key: OPERATOR_KEY })).status).toBe(401)
  })
})

describe('/v1/projects', () => {
  it('creates a project with a key that works, and revokes the key', async () => {
    const { ask } = await openWithOperator()
    const asOperator = (method: string, path: string, body?: object) =>
      ask(method, path, { key: OPERATOR_KEY, ...(body && { body }) })
    const project = await asOperator('POST', '/v1/projects', { name: 'a shop' })
    expect(project).toMatchObject({ status: 201, json: { name: 'a shop' } })
    const { id } = project.json
    expect((await asOperator('GET', `/v1/projects/${id}`)).json).toEqual(project.json)
    expect((await asOperator('GET', '/v1/projects')).json.data).toContainEqual(project.json)

    const settings = { name: 'first', permissions: ['project:audit'] }
    const created = await asOperator('POST', `/v1/projects/${id}/keys`, settings)
    expect(created.status).toBe(201)
    const { key, ...shown } = created.json
    expect((await asOperator('GET', `/v1/projects/${id}/keys`)).json.data).toEqual([shown])
    const log = await ask('GET', '/v1/audit-log', { key })
    expect(log.json.data).toMatchObject([
      { action: 'key.created', targetId: shown.id, actor: { kind: 'operator' } },
      { action: 'project.created', targetId: id, actor: { kind: 'operator' } },
    ])
    expect((await asOperator('DELETE', `/v1/projects/${id}/keys/${shown.id}`)).status).toBe(204)
    expect((await ask('GET', '/v1/audit-log', { key })).status).toBe(401)
  })

  it('answers for an unknown project', async () => {
    const { ask } = await openWithOperator()
    const key = OPERATOR_KEY
    expect((await ask('GET', '/v1/projects/x', { key })).status).toBe(404)
    expect((await ask('GET', '/v1/projects/x/keys', { key })).status).toBe(404)
    const body = { name: 'k', permissions: ['project:message'] }
    expect((await ask('POST', '/v1/projects/x/keys', { key, body })).status).toBe(404)
    expect((await ask('POST', '/v1/projects', { key, body: {} })).status).toBe(400)
  })
})
