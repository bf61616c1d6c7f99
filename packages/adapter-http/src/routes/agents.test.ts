import { createService, type AgentSettings } from '@org/agent-messaging-core'
import { failure, success, defaultLimits } from '@org/agent-messaging-core/runtime'
import { fakePlatform, fakeRuntime } from '@org/agent-messaging-testing'
import { describe, expect, it } from 'vitest'
import { aMessage, openScene, UNKNOWN_ID } from '../../test/scene.js'
import { createHttpApp } from '../app.js'

const echo = { name: 'echo', runtime: { kind: 'function', handler: 'echo' } }

/** A value of every setting that is not its default. */
const SETTINGS: { readonly [K in keyof AgentSettings]-?: NonNullable<AgentSettings[K]> } = {
  name: 'other',
  runtime: { kind: 'fake' },
  defaultExecutionPrincipal: { type: 'end_user', endUserId: 'u1' },
  concurrency: 2,
  maxAttempts: 2,
  maxQueued: 2,
  onBusy: 'reject',
  a2a: { enabled: true },
}

it.each(Object.entries(SETTINGS))('a creation and a change keep %s', async (name, value) => {
  const { ask } = await openScene()
  const stopped = { ...echo, desiredState: 'stopped' }
  const create = async (body: object) => {
    const { json } = await ask('POST', '/v1/agents', { body })
    return `/v1/agents/${json.id}`
  }
  const created = await create({ ...stopped, [name]: value })
  expect((await ask('GET', created)).json[name]).toEqual(value)
  await ask('DELETE', created)
  const changed = await create(stopped)
  expect((await ask('GET', changed)).json[name]).not.toEqual(value)
  await ask('PATCH', changed, { body: { [name]: value } })
  expect((await ask('GET', changed)).json[name]).toEqual(value)
})

describe('POST /v1/agents', () => {
  it('creates an agent with the defaults and starts it', async () => {
    const { ask } = await openScene()
    const created = await ask('POST', '/v1/agents', { body: echo })
    expect(created.status).toBe(201)
    expect(created.headers.get('location')).toBe(`/v1/agents/${created.json.id}`)
    expect(created.json).toEqual({
      id: expect.any(String),
      name: 'echo',
      defaultExecutionPrincipal: { type: 'service' },
      runtime: { kind: 'function', handler: 'echo' },
      desiredState: 'running',
      state: 'running',
      concurrency: 16,
      maxAttempts: 3,
      maxQueued: 100,
      onBusy: 'queue',
      createdAt: '2030-01-01T00:00:00.000Z',
      updatedAt: '2030-01-01T00:00:00.000Z',
    })
    expect((await ask('GET', created.headers.get('location') ?? '')).json).toEqual(created.json)
  })

  it('creates the agent stopped if desiredState is stopped', async () => {
    const { ask } = await openScene()
    const created = await ask('POST', '/v1/agents', { body: { ...echo, desiredState: 'stopped' } })
    expect(created.json).toMatchObject({ desiredState: 'stopped', state: 'stopped' })
  })

  it('limits the agents of each project separately', async () => {
    const { ask, otherKey } = await openScene({
      policy: { limits: { ...defaultLimits, agentsPerProject: 1 } },
    })
    const first = await ask('POST', '/v1/agents', { body: echo })
    const refused = await ask('POST', '/v1/agents', { body: { ...echo, name: 'second' } })
    expect([refused.status, refused.json.error.code, refused.json.error.message]).toEqual([
      409,
      'CONFLICT',
      'The project has reached its limit of agents. Delete one first',
    ])
    expect((await ask('POST', '/v1/agents', { body: echo, key: otherKey })).status).toBe(201)
    expect((await ask('DELETE', `/v1/agents/${first.json.id}`)).status).toBe(204)
    expect((await ask('POST', '/v1/agents', { body: echo })).status).toBe(201)
  })

  it('shows the reason of a failed start', async () => {
    const { ask, runtime } = await openScene()
    runtime.failStart('no such port')
    const { json } = await ask('POST', '/v1/agents', {
      body: { name: 'broken', runtime: { kind: 'fake' }, desiredState: 'running' },
    })
    expect(json).toMatchObject({
      state: 'error',
      lastError: { code: 'RUNTIME_EXITED', message: 'no such port' },
      failures: 1,
    })
    expect(json.retryAt).toBe('2030-01-01T00:00:01.000Z')
    const refused = await ask('POST', '/v1/agents/broken/messages', { body: aMessage() })
    expect([refused.status, refused.json.error.code, refused.headers.get('retry-after')]).toEqual([
      409,
      'AGENT_NOT_RUNNING',
      '1',
    ])
    expect((await ask('GET', '/v1/agents/broken/messages')).json.data).toEqual([])
  })

  it('sends no Retry-After if the agent is not started again', async () => {
    const { ask, runtime, clock } = await openScene()
    const { start } = runtime
    Object.assign(runtime, {
      start: async () => failure({ code: 'RUNTIME_EXITED', message: 'no such port' }),
    })
    const { json } = await ask('POST', '/v1/agents', {
      body: { name: 'broken', runtime: { kind: 'fake' }, desiredState: 'running' },
    })
    await clock.advance(600_000)
    const left = await ask('GET', `/v1/agents/${json.id}`)
    expect(left.json).toMatchObject({ state: 'error', desiredState: 'running', failures: 10 })
    expect(left.json.lastError.message).toMatch(
      /^no such port; stopped after 10 failures in a row: start it/,
    )
    expect(left.json).not.toHaveProperty('retryAt')
    expect(
      (await ask('POST', '/v1/agents/broken/messages', { body: aMessage() })).headers.get(
        'retry-after',
      ),
    ).toBeNull()
    Object.assign(runtime, { start })
    expect((await ask('POST', '/v1/agents/broken/start')).json).toMatchObject({ state: 'running' })
  })

  it('accepts every setting, and keeps the options unchanged', async () => {
    const { app, key } = await openScene()
    const settings =
      '{"name":"all","runtime":{"kind":"fake","deep":{"list":[1,null]},"__proto__":{"x":1}},"defaultExecutionPrincipal":{"type":"end_user","endUserId":"u"},"concurrency":2,"maxAttempts":1,"maxQueued":0}'
    const headers = { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' }
    const created = await (
      await app.request('/v1/agents', { method: 'POST', headers, body: settings })
    ).text()
    expect(created).toContain(
      '"runtime":{"kind":"fake","deep":{"list":[1,null]},"__proto__":{"x":1}}',
    )
    expect(JSON.parse(created)).toMatchObject({
      concurrency: 2,
      maxAttempts: 1,
      maxQueued: 0,
      onBusy: 'reject',
      defaultExecutionPrincipal: { endUserId: 'u' },
    })
  })

  it.each([
    ['no name', { runtime: echo.runtime }, 'name'],
    ['an illegal name', { ...echo, name: 'Echo!' }, 'name'],
    ['a name that looks like an id', { ...echo, name: UNKNOWN_ID }, 'name'],
    ['no runtime', { name: 'echo' }, 'runtime'],
    ['a runtime of another type', { ...echo, runtime: 'echo' }, 'runtime'],
    ['a runtime without a kind', { ...echo, runtime: {} }, 'runtime.kind'],
    ['a kind of another type', { ...echo, runtime: { kind: 7 } }, 'runtime.kind'],
    ['an unknown kind', { ...echo, runtime: { kind: 'docker' } }, 'runtime.kind'],
    ['an unknown handler', { ...echo, runtime: { kind: 'function', handler: 'rm' } }, 'runtime'],
    [
      'a handler of the prototype',
      { ...echo, runtime: { kind: 'function', handler: 'constructor' } },
      'runtime',
    ],
    [
      'a principal of another type',
      { ...echo, defaultExecutionPrincipal: [] },
      'defaultExecutionPrincipal',
    ],
    [
      'an unknown principal',
      { ...echo, defaultExecutionPrincipal: { type: 'root' } },
      'defaultExecutionPrincipal',
    ],
    ['concurrency 0', { ...echo, concurrency: 0 }, 'concurrency'],
    ['concurrency as text', { ...echo, concurrency: '4' }, 'concurrency'],
    ['a fraction of an attempt', { ...echo, maxAttempts: 1.5 }, 'maxAttempts'],
    ['another desired state', { ...echo, desiredState: 'paused' }, 'desiredState'],
  ])('refuses %s', async (_, body, path) => {
    const { ask } = await openScene()
    const refused = await ask('POST', '/v1/agents', { body })
    expect([refused.status, refused.json.error.code]).toEqual([400, 'BAD_REQUEST'])
    expect(refused.json.error.issues).toEqual([{ path, message: expect.any(String) }])
  })

  it('refuses a duplicate name', async () => {
    const { ask } = await openScene()
    await ask('POST', '/v1/agents', { body: echo })
    const refused = await ask('POST', '/v1/agents', { body: echo })
    expect([refused.status, refused.json.error.code]).toEqual([409, 'CONFLICT'])
  })
})

describe('runtimes with secrets', () => {
  /** Like an HTTP runtime: takes a secret out of the options, and signs its requests. */
  async function openSigned() {
    const scene = await openScene()
    const platform = fakePlatform()
    const parseOptions = async ({ apiKey, ...options }: { [name: string]: unknown }) =>
      success({
        options: { ...options, apiKey: { set: apiKey !== undefined } } as never,
        secrets: { apiKey } as never,
      })
    const runtimes = [
      fakeRuntime({ kind: 'signed', signsRequests: true, parseOptions }),
      fakeRuntime({ kind: 'plain' }),
    ]
    const service = createService({ ...platform, storage: scene.storage, runtimes })
    const app = createHttpApp({ service, crypto: platform.crypto, newRequestId: () => 'request' })
    const headers = { Authorization: `Bearer ${scene.key}`, 'Content-Type': 'application/json' }
    const ask = async (method: string, path: string, body?: unknown) => {
      const response = await app.request(path, {
        method,
        headers,
        ...(body !== undefined && { body: JSON.stringify(body) }),
      })
      return response.json()
    }
    return { ask }
  }

  it('show the signing secret once, and their secret options never', async () => {
    const { ask } = await openSigned()
    const created = await ask('POST', '/v1/agents', {
      name: 'remote',
      runtime: { kind: 'signed', url: 'https://agent.example', apiKey: 'hush-hush' },
    })
    expect(created.signingSecret).toMatch(/^whsec_/)
    expect(created.runtime).toEqual({
      kind: 'signed',
      url: 'https://agent.example',
      apiKey: { set: true },
    })
    const shown = [
      created,
      await ask('GET', '/v1/agents/remote'),
      await ask('GET', '/v1/agents'),
      await ask('PATCH', '/v1/agents/remote', { maxAttempts: 1 }),
    ]
    expect(JSON.stringify(shown)).not.toContain('hush-hush')
    expect(JSON.stringify(shown.slice(1))).not.toContain('whsec_')
  })

  it('show a new signing secret when the kind changes', async () => {
    const { ask } = await openSigned()
    expect(
      await ask('POST', '/v1/agents', {
        name: 'remote',
        runtime: { kind: 'plain' },
        desiredState: 'stopped',
      }),
    ).not.toHaveProperty('signingSecret')
    const changed = await ask('PATCH', '/v1/agents/remote', { runtime: { kind: 'signed' } })
    expect(changed.signingSecret).toMatch(/^whsec_/)
  })
})

describe('the life of an agent', () => {
  it('the list is paged, newest first', async () => {
    const { ask, createAgent } = await openScene()
    const ids: string[] = []
    for (let n = 0; n < 3; n++) ids.unshift((await createAgent()).id)
    const first = (await ask('GET', '/v1/agents?limit=2')).json
    expect([first.data.map((agent: { id: string }) => agent.id), first.nextCursor]).toEqual([
      ids.slice(0, 2),
      ids[1],
    ])
    const last = (await ask('GET', `/v1/agents?limit=2&cursor=${first.nextCursor}`)).json
    expect([last.data.map((agent: { id: string }) => agent.id), last.nextCursor]).toEqual([
      ids.slice(2),
      null,
    ])
  })

  it('a change leaves absent fields unchanged', async () => {
    const { ask, createAgent } = await openScene()
    const { updatedAt, ...agent } = await createAgent()
    const changed = await ask('PATCH', `/v1/agents/${agent.id}`, {
      body: { name: 'renamed' },
    })
    const { updatedAt: changedAt, ...renamed } = changed.json
    expect([changed.status, renamed]).toEqual([200, { ...agent, name: 'renamed' }])
    expect(Date.parse(changedAt)).toBeGreaterThan(Date.parse(updatedAt))
    const again = await ask('PATCH', '/v1/agents/renamed', { body: {} })
    expect(again.json).toEqual({ ...changed.json, updatedAt: expect.any(String) })
    expect((await ask('PATCH', '/v1/agents/renamed', { body: { concurrency: null } })).status).toBe(
      400,
    )
  })

  it('an agent starts and stops, and its runtime changes only while it is stopped', async () => {
    const { ask, createAgent } = await openScene()
    const agent = await createAgent()
    const change = { body: { runtime: { kind: 'fake' } } }
    expect((await ask('PATCH', `/v1/agents/${agent.id}`, change)).json.error.code).toBe('CONFLICT')
    const stopped = await ask('POST', `/v1/agents/${agent.id}/stop`)
    expect([stopped.status, stopped.json.state, stopped.json.desiredState]).toEqual([
      200,
      'stopped',
      'stopped',
    ])
    expect((await ask('PATCH', `/v1/agents/${agent.id}`, change)).json.runtime).toEqual({
      kind: 'fake',
    })
    const started = await ask('POST', `/v1/agents/${agent.name}/start`)
    expect([started.status, started.json.state, started.json.desiredState]).toEqual([
      200,
      'running',
      'running',
    ])
  })

  it('start and stop ignore any body', async () => {
    const { ask, createAgent } = await openScene()
    const agent = await createAgent()
    expect(
      (
        await ask('POST', `/v1/agents/${agent.id}/start`, {
          body: '{',
          headers: { 'Content-Type': 'text/plain' },
        })
      ).status,
    ).toBe(200)
  })

  it('an agent with open messages is deleted only by force', async () => {
    const { ask, createSlowAgent } = await openScene()
    const agent = await createSlowAgent()
    const path = `/v1/agents/${agent.id}`
    await ask('POST', `${path}/messages`, {
      body: aMessage(),
      headers: { Prefer: 'respond-async' },
    })
    for (const query of ['', '?force=false'])
      expect((await ask('DELETE', path + query)).json.error.code).toBe('CONFLICT')
    expect((await ask('DELETE', `${path}?force=yes`)).status).toBe(400)
    const deleted = await ask('DELETE', `${path}?force=true`)
    expect([deleted.status, deleted.text]).toEqual([204, ''])
    for (const method of ['GET', 'DELETE']) expect((await ask(method, path)).status).toBe(404)
  })
})
