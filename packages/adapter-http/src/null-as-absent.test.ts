import { describe, expect, it } from 'vitest'
import { openScene } from '../test/scene.js'

const hook = { url: 'https://receiver.example/', events: ['*'] }
const UNSET = { metadata: null }

describe('null for an optional field of a creation means absent', () => {
  it.each<[path: string, body: object, optional: readonly string[]]>([
    [
      '/v1/agents',
      { name: 'a', runtime: { kind: 'function', handler: 'echo', other: null } },
      [
        'defaultExecutionPrincipal',
        'concurrency',
        'maxAttempts',
        'maxQueued',
        'onBusy',
        'a2a',
        'desiredState',
      ],
    ],
    [
      '/v1/agents',
      {
        name: 'a',
        runtime: { kind: 'function', handler: 'echo' },
        defaultExecutionPrincipal: { type: 'end_user', endUserId: null },
      },
      [],
    ],
    [
      '/v1/webhooks',
      hook,
      [
        'filter',
        'description',
        'headers',
        'enabled',
        'disableOnGone',
        'ordering',
        'payload',
        'paused',
        'maxConcurrency',
        'requestsPerSecond',
        'timeoutMs',
        'retrySchedule',
        'secret',
      ],
    ],
    [
      '/v1/webhooks',
      {
        ...hook,
        filter: {
          agentId: null,
          sessionIdPrefix: 's',
          metadata: [
            { path: 'a', equals: 'b', exists: null },
            { path: 'a', equals: null, exists: true },
          ],
          data: [
            { path: 'a', equals: null, exists: null, prefix: 'b', min: null, max: null },
            { path: 'a', equals: null, prefix: null, min: 1, max: null },
          ],
        },
      },
      [],
    ],
    ['/v1/keys', { name: 'k', permissions: ['project:message'] }, ['expiresAt']],
    [
      '/v1/recoveries',
      {},
      ['webhookId', 'event', 'status', 'createdAfter', 'createdBefore', 'lastAnswer'],
    ],
  ])('%s: %j', async (path, body, optional) => {
    const { ask } = await openScene()
    const nulls = Object.fromEntries(optional.map((name) => [name, null]))
    const created = await ask('POST', path, { body: JSON.stringify({ ...body, ...nulls }) })
    expect([created.status, created.json.error]).toEqual([
      path === '/v1/recoveries' ? 202 : 201,
      undefined,
    ])
    const shown = JSON.stringify(created.json)
    expect(shown).not.toContain('"exists":null')
    for (const name of ['description', 'filter', 'timeoutMs', 'expiresAt'])
      if (optional.includes(name)) expect(created.json).not.toHaveProperty(name)
  })

  it('a message, except its principal', async () => {
    const { ask, createAgent } = await openScene()
    const { id } = await createAgent()
    const send = (fields: object) =>
      ask('POST', `/v1/agents/${id}/messages`, {
        body: JSON.stringify({ sessionId: 's', message: 'm', ...fields }),
      })
    expect((await send(UNSET)).status).toBe(200)
    expect((await send({ ...UNSET, executionPrincipal: null })).status).toBe(400)
    expect((await send({ sessionId: null })).status).toBe(400)
  })

  it('a rotation of a secret', async () => {
    const { ask } = await openScene()
    const { id } = (await ask('POST', '/v1/webhooks', { body: hook })).json
    const body = { secret: null, graceMs: null }
    expect((await ask('POST', `/v1/webhooks/${id}/rotate-secret`, { body })).status).toBe(200)
  })
})

it('in a change of an agent, null is refused', async () => {
  const { ask, createAgent } = await openScene()
  const { id } = await createAgent()
  for (const field of ['name', 'runtime', 'defaultExecutionPrincipal', 'concurrency', 'onBusy'])
    expect((await ask('PATCH', `/v1/agents/${id}`, { body: { [field]: null } })).status).toBe(400)
})
