import { sampleEvent } from '@org/agent-messaging-core/host'
import type { WebhookSettings } from '@org/agent-messaging-core'
import type { Outcome } from '@org/agent-messaging-core/runtime'
import { describe, expect, it } from 'vitest'
import { accepted, refused, unreachable } from '@org/agent-messaging-testing'
import { openScene, UNKNOWN_ID } from '../../test/scene.js'

const url = 'https://receiver.example/hook'
const hook = { url, events: ['message.responded'] }

const withCondition = (condition: object) => ({ ...hook, filter: { metadata: [condition] } })

describe('POST /v1/webhooks', () => {
  it('shows the secret only in its answer', async () => {
    const { ask } = await openScene()
    const created = await ask('POST', '/v1/webhooks', { body: hook })
    expect(created.status).toBe(201)
    expect(created.headers.get('location')).toBe(`/v1/webhooks/${created.json.id}`)
    expect(created.json).toEqual({
      id: expect.any(String),
      url,
      events: ['message.responded'],
      disableOnGone: false,
      ordering: 'none',
      payload: 'full',
      paused: false,
      enabled: true,
      consecutiveFailures: 0,
      circuit: 'closed',
      limit: { concurrency: 8, reason: 'growing' },
      createdAt: '2030-01-01T00:00:00.000Z',
      updatedAt: '2030-01-01T00:00:00.000Z',
      secret: expect.stringMatching(/^whsec_[A-Za-z0-9+/]{43}=$/),
    })
    const { secret, ...shown } = created.json
    const path = `/v1/webhooks/${shown.id}`
    expect((await ask('GET', path)).json).toEqual(shown)
    expect((await ask('GET', '/v1/webhooks')).json).toEqual({ data: [shown], nextCursor: null })
    const changed = await ask('PATCH', path, { body: { description: 'd' } })
    expect([changed.status, changed.text.includes('secret')]).toEqual([200, false])
    const refused = await ask('PATCH', path, { body: { secret } })
    expect([refused.status, refused.text.includes(secret)]).toEqual([400, false])
  })

  it('accepts a secret, a filter and a description', async () => {
    const { ask, createAgent } = await openScene()
    const agent = await createAgent()
    const secret = `whsec_${btoa('x'.repeat(24))}`
    const filter = {
      agentId: agent.id,
      sessionIdPrefix: 'chat/',
      metadata: [
        { path: 'customer.plan', equals: 'gold' },
        { path: 'test', exists: false },
      ],
      data: [
        { path: 'error.code', prefix: 'RUNTIME_' },
        { path: 'responseTimeMs', min: 10, max: 20 },
      ],
    }
    const body = { ...hook, secret, filter, description: 'mine', enabled: false }
    const { json } = await ask('POST', '/v1/webhooks', { body })
    expect(json).toMatchObject({
      secret,
      filter,
      description: 'mine',
      enabled: false,
      disabledReason: 'operator',
    })
  })

  it.each([
    ['no url', { events: ['*'] }, 'url'],
    ['no events', { url }, 'events'],
    ['an empty list of events', { url, events: [] }, 'events'],
    ['an unknown event', { url, events: ['message.responded', 'message.lost'] }, 'events'],
    ['events as text', { url, events: 'message.responded' }, 'events'],
    ['events of other types', { url, events: [7] }, 'events'],
    ['a short secret', { ...hook, secret: `whsec_${btoa('short')}` }, 'secret'],
    ['a missing agent', { ...hook, filter: { agentId: UNKNOWN_ID } }, 'filter.agentId'],
    ['an illegal agent id', { ...hook, filter: { agentId: '\0' } }, 'filter.agentId'],
    ['an empty filter', { ...hook, filter: {} }, 'filter'],
    ['a filter of another type', { ...hook, filter: 'chat' }, 'filter'],
    ['a misspelt filter', { ...hook, filter: { sessionPrefix: 'chat' } }, 'filter'],
    ['conditions of another type', { ...hook, filter: { metadata: {} } }, 'filter.metadata'],
    ['a condition without a test', withCondition({ path: 'a' }), 'filter.metadata.0'],
    ['a misspelt test', withCondition({ path: 'a', equal: 1 }), 'filter.metadata.0'],
    ['an object to compare', withCondition({ path: 'a', equals: {} }), 'filter.metadata.0.equals'],
    ['an empty path', withCondition({ path: '', exists: true }), 'filter.metadata.0.path'],
    ['a description of another type', { ...hook, description: 7 }, 'description'],
  ])('refuses %s', async (_, body, path) => {
    const { ask } = await openScene()
    const refused = await ask('POST', '/v1/webhooks', { body })
    expect([refused.status, refused.json.error.code]).toEqual([400, 'BAD_REQUEST'])
    expect(refused.json.error.issues).toEqual([{ path, message: expect.any(String) }])
  })

  it('refuses a URL that the sender refuses, with its reason', async () => {
    const { ask, sender } = await openScene()
    sender.refuse('http://127.0.0.1/', 'is not a public address')
    const { json } = await ask('POST', '/v1/webhooks', {
      body: { ...hook, url: 'http://127.0.0.1/' },
    })
    expect(json.error.issues).toEqual([{ path: 'url', message: 'is not a public address' }])
  })

  it('refuses a webhook beyond the limit', async () => {
    const { ask, service } = await openScene()
    const max = service.policy.limits.webhooksPerProject
    for (let n = 0; n < max; n++)
      expect((await ask('POST', '/v1/webhooks', { body: hook })).status).toBe(201)
    expect((await ask('POST', '/v1/webhooks', { body: hook })).json.error.code).toBe('CONFLICT')
  })
})

/** A value of every setting that is not its default. */
const SETTINGS: { readonly [K in keyof WebhookSettings]-?: NonNullable<WebhookSettings[K]> } = {
  url: 'https://other.example/hook',
  events: ['agent.error', '*'],
  filter: { sessionIdPrefix: 'chat/' },
  description: 'for people',
  headers: { 'X-Team': 'blue' },
  enabled: false,
  disableOnGone: true,
  ordering: 'session',
  payload: 'thin',
  paused: true,
  maxConcurrency: 3,
  requestsPerSecond: 0.5,
  timeoutMs: 1_000,
  retrySchedule: [1, 2],
}

it.each(Object.entries(SETTINGS))('a creation and a change keep %s', async (name, value) => {
  const { ask } = await openScene()
  const shown = name === 'headers' ? { 'X-Team': { set: true } } : value
  const create = async (body: object) => {
    const { json } = await ask('POST', '/v1/webhooks', { body })
    return `/v1/webhooks/${json.id}`
  }
  const created = await create({ ...hook, [name]: value })
  expect((await ask('GET', created)).json[name]).toEqual(shown)
  const changed = await create(hook)
  expect((await ask('GET', changed)).json[name]).not.toEqual(shown)
  await ask('PATCH', changed, { body: { [name]: value } })
  expect((await ask('GET', changed)).json[name]).toEqual(shown)
})

describe('the life of a webhook', () => {
  it('a change leaves absent fields unchanged, and null clears optional fields', async () => {
    const { ask } = await openScene()
    const { secret: _, ...created } = (
      await ask('POST', '/v1/webhooks', { body: { ...hook, description: 'd' } })
    ).json
    const path = `/v1/webhooks/${created.id}`
    const disabled = await ask('PATCH', path, { body: { enabled: false, events: ['*'] } })
    const isDisabled = {
      enabled: false,
      disabledReason: 'operator',
      disabledAt: '2030-01-01T00:00:00.000Z',
    }
    expect([disabled.status, disabled.json]).toEqual([
      200,
      { ...created, events: ['*'], ...isDisabled },
    ])
    const { description: __, ...cleared } = created
    const enabled = await ask('PATCH', path, {
      body: { enabled: true, events: hook.events, description: null },
    })
    const limit = { ...cleared.limit, reason: 'circuit' }
    expect(enabled.json).toEqual({ ...cleared, circuit: 'half_open', limit })
    expect((await ask('PATCH', path, { body: { url: null } })).status).toBe(400)
  })

  it('a deleted webhook is gone', async () => {
    const { ask } = await openScene()
    const path = `/v1/webhooks/${(await ask('POST', '/v1/webhooks', { body: hook })).json.id}`
    const deleted = await ask('DELETE', path)
    expect([deleted.status, deleted.text]).toEqual([204, ''])
    for (const method of ['GET', 'PATCH', 'DELETE'])
      expect((await ask(method, path, { ...(method === 'PATCH' && { body: {} }) })).status).toBe(
        404,
      )
  })
})

describe('POST /v1/webhooks/:id/disable and /enable', () => {
  it('disable keeps deliveries, and enable sends one first', async () => {
    const { ask, clock, sender } = await openScene()
    const path = `/v1/webhooks/${(await ask('POST', '/v1/webhooks', { body: hook })).json.id}`
    await ask('POST', `${path}/test`)
    await clock.until(() => sender.requests.length === 1)
    const disabled = await ask('POST', `${path}/disable`)
    expect(disabled).toMatchObject({
      status: 200,
      json: { enabled: false, disabledReason: 'operator' },
    })
    expect((await ask('POST', `${path}/disable`)).json).toMatchObject({
      disabledAt: disabled.json.disabledAt,
    })
    const enabled = await ask('POST', `${path}/enable`)
    expect(enabled).toMatchObject({
      status: 200,
      json: { enabled: true, circuit: 'half_open', consecutiveFailures: 0 },
    })
    expect(enabled.json).not.toHaveProperty('disabledReason')
    expect(enabled.json).not.toHaveProperty('disabledAt')
  })
  it('answer 404 for a missing webhook', async () => {
    const { ask } = await openScene()
    for (const action of ['enable', 'disable'])
      expect((await ask('POST', `/v1/webhooks/${UNKNOWN_ID}/${action}`)).status).toBe(404)
  })
})

it('a webhook shows its health', async () => {
  const { ask, clock, sender } = await openScene()
  const created = await ask('POST', '/v1/webhooks', { body: { ...hook, disableOnGone: true } })
  const path = `/v1/webhooks/${created.json.id}`
  expect(created.json).toMatchObject({
    disableOnGone: true,
    circuit: 'closed',
    consecutiveFailures: 0,
  })
  sender.script(refused(503, 60_000))
  await ask('POST', `${path}/test`)
  await clock.advance(0)
  const at = '2030-01-01T00:00:00.000Z'
  expect((await ask('GET', path)).json).toMatchObject({
    consecutiveFailures: 1,
    failingSince: at,
    lastFailureAt: at,
    lastFailure: { outcome: 'refused', statusCode: 503, responseBody: '', startedAt: at },
    circuit: 'open',
    circuitOpenUntil: '2030-01-01T00:01:00.000Z',
  })
  sender.script(refused(410))
  await clock.advance(70_000)
  expect((await ask('GET', path)).json).toMatchObject({
    enabled: false,
    disabledReason: 'gone',
    consecutiveFailures: 2,
  })
})

it('shows the last failure of each webhook of a list, with 200 characters of the answer', async () => {
  const { ask, clock, sender } = await openScene()
  const webhooks = []
  for (let n = 0; n < 3; n++)
    webhooks.push((await ask('POST', '/v1/webhooks', { body: hook })).json)
  const [refuses, away, healthy] = webhooks
  const responseBody = '😀'.repeat(201)
  const test = async ({ id }: { id: string }, outcome: Outcome) => {
    sender.script(outcome)
    const { json } = await ask('POST', `/v1/webhooks/${id}/test`)
    await clock.advance(0)
    return json.id as string
  }
  await test(healthy, accepted())
  const refused = await test(refuses, { kind: 'refused', statusCode: 500, responseBody })
  const unreached = await test(away, unreachable('timeout'))
  const failed = { attemptNumber: 1, startedAt: '2030-01-01T00:00:00.000Z' }
  const { json } = await ask('GET', '/v1/webhooks')
  expect(json.data.map((row: { lastFailure?: object }) => row.lastFailure)).toEqual([
    undefined,
    {
      ...failed,
      deliveryId: unreached,
      outcome: 'unreachable',
      error: 'timeout',
      detail: 'told: timeout',
    },
    {
      ...failed,
      deliveryId: refused,
      outcome: 'refused',
      statusCode: 500,
      responseBody: '😀'.repeat(200),
    },
  ])
  expect((await ask('PATCH', `/v1/webhooks/${away.id}`, { body: {} })).json).not.toHaveProperty(
    'lastFailure',
  )
})

describe('POST /v1/webhooks/:id/rotate-secret', () => {
  it('shows the new secret once, and the end of the old secret', async () => {
    const { ask } = await openScene()
    const webhook = (
      await ask('POST', '/v1/webhooks', {
        body: { url: 'https://receiver.example', events: ['*'] },
      })
    ).json
    const path = `/v1/webhooks/${webhook.id}`
    const rotated = await ask('POST', `${path}/rotate-secret`, { body: { graceMs: 60_000 } })
    expect(rotated).toMatchObject({
      status: 200,
      json: { id: webhook.id, previousSecretUntil: '2030-01-01T00:01:00.000Z' },
    })
    expect(rotated.json.secret).toMatch(/^whsec_/)
    expect(rotated.json.secret).not.toBe(webhook.secret)
    expect((await ask('GET', path)).text).not.toContain('whsec_')
    const finished = await ask('POST', `${path}/rotate-secret/finish`)
    expect(finished.status).toBe(200)
    expect(finished.json).not.toHaveProperty('previousSecretUntil')
  })
  it('hides the end of the old secret after it has passed', async () => {
    const { ask, clock } = await openScene()
    const path = `/v1/webhooks/${(await ask('POST', '/v1/webhooks', { body: hook })).json.id}`
    await ask('POST', `${path}/rotate-secret`, { body: { graceMs: 60_000 } })
    await clock.advance(59_999)
    expect((await ask('GET', path)).json).toHaveProperty('previousSecretUntil')
    await clock.advance(1)
    expect((await ask('GET', path)).json).not.toHaveProperty('previousSecretUntil')
  })
  it('refuses an illegal secret and a missing webhook', async () => {
    const { ask } = await openScene()
    const webhook = (
      await ask('POST', '/v1/webhooks', {
        body: { url: 'https://receiver.example', events: ['*'] },
      })
    ).json
    expect(
      (await ask('POST', `/v1/webhooks/${webhook.id}/rotate-secret`, { body: { secret: 'x' } }))
        .status,
    ).toBe(400)
    expect(
      (await ask('POST', `/v1/webhooks/${webhook.id}/rotate-secret`, { body: { graceMs: '1' } }))
        .status,
    ).toBe(400)
    expect((await ask('POST', '/v1/webhooks/nothing/rotate-secret', { body: {} })).status).toBe(404)
    expect((await ask('POST', '/v1/webhooks/nothing/rotate-secret/finish')).status).toBe(404)
  })
})

it('POST /v1/webhooks/:id/test sends an event to this webhook only', async () => {
  const { ask, clock, sender } = await openScene()
  const webhook = (
    await ask('POST', '/v1/webhooks', {
      body: { url: 'https://receiver.example', events: ['agent.error'] },
    })
  ).json
  const sent = await ask('POST', `/v1/webhooks/${webhook.id}/test`)
  expect(sent).toMatchObject({
    status: 202,
    json: { webhookId: webhook.id, event: 'webhook.test', status: 'pending' },
  })
  await clock.until(() => sender.requests.length === 1)
  expect((await ask('GET', '/v1/deliveries?event=webhook.test')).json.data).toHaveLength(1)
  const sample = { event: 'message.responded' }
  const { json } = await ask('POST', `/v1/webhooks/${webhook.id}/test`, { body: sample })
  await clock.until(() => sender.requests.length === 2)
  expect(JSON.parse(sender.requests[1]?.body ?? '')).toEqual({
    ...sampleEvent('message.responded'),
    id: json.eventId,
    createdAt: '2030-01-01T00:00:00.000Z',
  })
  expect(json).not.toHaveProperty('messageId')
  const unknown = { event: 'message.unknown' }
  const refused = await ask('POST', `/v1/webhooks/${webhook.id}/test`, { body: unknown })
  expect([refused.status, refused.json.error.issues[0].path]).toEqual([400, 'event'])
  await ask('PATCH', `/v1/webhooks/${webhook.id}`, { body: { enabled: false } })
  expect((await ask('POST', `/v1/webhooks/${webhook.id}/test`)).status).toBe(409)
  expect((await ask('POST', `/v1/webhooks/${UNKNOWN_ID}/test`)).status).toBe(404)
})
