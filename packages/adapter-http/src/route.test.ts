import { describe, expect, it } from 'vitest'
import { openScene, UNKNOWN_ID } from '../test/scene.js'

it.each([
  ['/v1/agents', {}, 'name is required; runtime is required'],
  ['/v1/agents', { name: 'a', runtime: {} }, 'runtime.kind is required'],
  [
    '/v1/agents',
    { name: 7, runtime: 'x' },
    'name must be a non-empty string; runtime must be an object',
  ],
  ['/v1/agents/a/messages', {}, 'sessionId is required; message is required'],
  ['/v1/webhooks', {}, 'url is required; events is required'],
  [
    '/v1/webhooks',
    { url: 7, events: ['*'], ordering: 'x', timeoutMs: '1' },
    'url must be a non-empty string; ordering must be one of: none, session; timeoutMs must be a ' +
      'whole number from 100 to 300000',
  ],
  ['/v1/keys', {}, 'name is required'],
  ['/v1/keys', [], 'body must be a JSON object'],
  [
    '/v1/recoveries',
    { state: 'exhausted' },
    'body has unknown fields: state (did you mean status?). Known fields: webhookId, event, ' +
      'status, createdAfter, createdBefore, lastAnswer, tryFirst, events',
  ],
])('POST %s with %j names each problem', async (path, body, message) => {
  const { ask } = await openScene()
  const { status, json } = await ask('POST', path, { body })
  expect([status, json.error.message]).toEqual([400, message])
})

it.each(['limit=2&limit=3', 'limit=2&limit=2', 'limit=2&limit=x', 'limit=2&limit='])(
  'GET /v1/agents?%s says that the parameter is repeated',
  async (parameters) => {
    const { ask } = await openScene()
    const { status, json } = await ask('GET', `/v1/agents?${parameters}`)
    expect([status, json.error.message]).toEqual([400, 'limit must be given once'])
  },
)

describe('an unknown field is refused', () => {
  const agent = { name: 'a', runtime: { kind: 'function', handler: 'echo' } }
  const hook = { url: 'https://receiver.example/', events: ['*'] }
  const key = { name: 'k', permissions: ['project:message'] }
  const message = `/v1/agents/a/messages/${UNKNOWN_ID}`

  it.each<[method: string, path: string, body: object, nearest: string]>([
    ['POST', '/v1/agents', { ...agent, concurency: 1 }, 'concurrency'],
    ['POST', '/v1/agents', { ...agent, a2a: { enabled: true, skils: [] } }, 'skills'],
    ['PATCH', '/v1/agents/a', { max_attempts: 1 }, 'maxAttempts'],
    ['POST', '/v1/webhooks', { ...hook, maxconcurrency: 1 }, 'maxConcurrency'],
    ['POST', '/v1/webhooks', { ...hook, filter: { agentid: UNKNOWN_ID } }, 'agentId'],
    ['PATCH', `/v1/webhooks/${UNKNOWN_ID}`, { timeoutMS: 100 }, 'timeoutMs'],
    ['POST', `/v1/webhooks/${UNKNOWN_ID}/rotate-secret`, { graceMS: 0 }, 'graceMs'],
    ['POST', '/v1/keys', { ...key, expiresat: '2040-01-01T00:00:00Z' }, 'expiresAt'],
    ['POST', '/v1/portal-links', { lifetimeSecond: 60 }, 'lifetimeSeconds'],
    ['POST', `${message}/input`, { inputId: UNKNOWN_ID, value: 1, principal: {} }, ''],
    ['POST', `${message}/input/withdraw`, { inputId: UNKNOWN_ID, inputid: '' }, 'inputId'],
  ])('%s %s %j', async (method, path, body, nearest) => {
    const { ask } = await openScene()
    const { status, json } = await ask(method, path, { body })
    expect([status, json.error.code]).toEqual([400, 'BAD_REQUEST'])
    expect(json.error.message).toContain('has unknown fields: ')
    expect(json.error.message).toContain(nearest && `(did you mean ${nearest}?)`)
  })

  it.each<[method: string, path: string, body: object, nearest: string]>([
    ['POST', '/v1/projects', { name: 'p', nme: 'q' }, 'name'],
    ['PATCH', '/v1/projects/:id', { sendLimits: { proyect: null } }, 'project'],
    ['PATCH', '/v1/projects/:id', { sendLimits: { key: { burts: 1 } } }, 'burst'],
    ['POST', '/v1/projects/:id/keys', { ...key, expireAt: '2040-01-01T00:00:00Z' }, 'expiresAt'],
  ])('by the operator: %s %s %j', async (method, path, body, nearest) => {
    const operatorKey = 'operator-key-of-this-test'
    const { ask, project } = await openScene({ http: { operatorKey } })
    const sent = await ask(method, path.replace(':id', project.id), { body, key: operatorKey })
    expect(sent.status).toBe(400)
    expect(sent.json.error.message).toContain(`(did you mean ${nearest}?)`)
  })

  it('and the answer stays short', async () => {
    const { ask } = await openScene()
    const many = Object.fromEntries(Array.from({ length: 9_000 }, (_, n) => [`expiresAt${n}`, 1]))
    const { status, text } = await ask('POST', '/v1/keys', {
      body: { ...key, ['x'.repeat(100_000)]: 1, ...many, ['__proto__']: 1 },
    })
    expect([status, text.length < 1_000]).toEqual([400, true])
  })

  it('but not in a message', async () => {
    const { ask, createAgent } = await openScene()
    const { id } = await createAgent()
    const body = { sessionId: 's', message: 'm', sessionID: 's', metadata: { any: { thing: 1 } } }
    expect((await ask('POST', `/v1/agents/${id}/messages`, { body })).status).toBe(200)
  })
})
