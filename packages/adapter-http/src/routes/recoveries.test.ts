import { refused } from '@org/agent-messaging-testing'
import { describe, expect, it } from 'vitest'
import { aMessage, openScene, UNKNOWN_ID } from '../../test/scene.js'

/** A webhook with one exhausted delivery. */
async function openExhausted() {
  const scene = await openScene({
    policy: { retry: { delaysMs: [], jitter: 0, maxRetryAfterMs: 0 } },
  })
  const { ask, clock, createAgent, sender } = scene
  sender.script(refused(500))
  const settings = { url: 'https://receiver.example/hook', events: ['message.responded'] }
  const webhook = (await ask('POST', '/v1/webhooks', { body: settings })).json
  const agent = await createAgent()
  await ask('POST', `/v1/agents/${agent.id}/messages`, { body: aMessage() })
  await clock.until(() => sender.requests.length === 1)
  await clock.advance(0)
  return { ...scene, webhook }
}

it('a recovery sends stored events of a type to a new webhook', async () => {
  const { ask, clock } = await openScene()
  const publish = (type: string) => ask('POST', '/v1/events', { body: { type, data: {} } })
  for (const type of ['order.paid', 'order.lost', 'order.paid']) await publish(type)
  const webhook = await ask('POST', '/v1/webhooks', {
    body: { url: 'https://example.com/hook', events: ['order.*'] },
  })
  const chosen = {
    webhookIds: [webhook.json.id],
    types: ['order.paid'],
    createdAfter: '2029-01-01T00:00:00Z',
  }
  const start = (body: object) => ask('POST', '/v1/recoveries', { body })
  const wrong = [
    { events: { ...chosen, createdBefore: '2028-01-01T00:00:00Z' } },
    { events: { ...chosen, webhookIds: [] } },
    { events: chosen, status: 'failed' },
    { events: { webhookIds: chosen.webhookIds } },
  ]
  for (const body of wrong) expect((await start(body)).status).toBe(400)
  expect((await start({ events: { ...chosen, webhookIds: [UNKNOWN_ID] } })).status).toBe(404)
  const started = await start({ events: chosen })
  expect([started.status, started.json.filter.types]).toEqual([202, ['order.paid']])
  for (let n = 0; n < 3; n++) await clock.advance(1_000)
  const { json } = await ask('GET', `/v1/recoveries/${started.json.id}`)
  expect(json).toMatchObject({ matched: 2, redelivered: 2 })
  const { data } = (await ask('GET', '/v1/deliveries')).json
  expect(data.map(({ event }: { event: string }) => event)).toEqual(['order.paid', 'order.paid'])
})

describe('POST /v1/recoveries', () => {
  it('starts a recovery, whose progress can be read', async () => {
    const { ask, clock, sender, webhook } = await openExhausted()
    const body = {
      webhookId: webhook.id,
      event: 'message.responded',
      lastAnswer: '5xx',
      createdAfter: '2029-12-31T23:00:00+01:00',
      createdBefore: '2031-01-01T00:00:00Z',
    }
    const started = await ask('POST', '/v1/recoveries', { body })
    const recovery = {
      id: expect.any(String),
      status: 'running',
      filter: {
        ...body,
        status: 'exhausted',
        createdAfter: '2029-12-31T22:00:00.000Z',
        createdBefore: '2030-01-01T00:00:00.001Z',
      },
      matched: 0,
      redelivered: 0,
      waiting: 0,
      failing: 0,
      delivered: 0,
      exhausted: 0,
      cancelled: 0,
      createdAt: '2030-01-01T00:00:00.000Z',
    }
    expect([started.status, started.json]).toEqual([202, recovery])
    await clock.until(() => sender.requests.length === 2)
    await clock.advance(40) // until the attempt is stored
    const done = {
      ...recovery,
      status: 'done',
      matched: 1,
      redelivered: 1,
      delivered: 1,
      finishedAt: '2030-01-01T00:00:00.000Z',
    }
    expect((await ask('GET', `/v1/recoveries/${started.json.id}`)).json).toEqual(done)
    expect((await ask('GET', '/v1/recoveries')).json).toEqual({ data: [done], nextCursor: null })
  })

  it('refuses an unknown webhook, an unknown field and a wrong value', async () => {
    const { ask } = await openExhausted()
    const statusOf = async (body: object) => (await ask('POST', '/v1/recoveries', { body })).status
    expect(await statusOf({ webhookId: UNKNOWN_ID })).toBe(404)
    expect(await statusOf({ createdAfter: 'yesterday' })).toBe(400)
    expect(await statusOf({ lastAnswer: '6xx' })).toBe(400)
    const body = { createdAftr: '2030-01-01T00:00:00Z' }
    expect(await ask('POST', '/v1/recoveries', { body })).toMatchObject({
      status: 400,
      json: { error: { message: expect.stringContaining('createdAftr') } },
    })
  })

  it('refuses more running recoveries than a project can have', async () => {
    const { ask, service } = await openExhausted()
    await service.stop()
    for (let n = 0; n < 20; n++) expect((await ask('POST', '/v1/recoveries')).status).toBe(202)
    expect(await ask('POST', '/v1/recoveries')).toMatchObject({
      status: 429,
      json: { error: { code: 'TOO_MANY_REQUESTS' } },
    })
  })
})

describe('POST /v1/recoveries/:id/continue', () => {
  it('sends the others after a first delivery that was not accepted', async () => {
    const { ask, clock, sender } = await openExhausted()
    const down = { kind: 'refused', statusCode: 503, responseBody: 'still down' } as const
    sender.script(refused(500), down)
    const { data } = (await ask('GET', '/v1/agents')).json
    const body = { ...aMessage(), sessionId: 'other' }
    await ask('POST', `/v1/agents/${data[0].id}/messages`, { body })
    await clock.until(() => sender.requests.length === 2)
    await clock.advance(40) // until the attempt is stored
    const { id, status } = (await ask('POST', '/v1/recoveries', { body: { tryFirst: true } })).json
    expect(status).toBe('trying')
    const path = `/v1/recoveries/${id}`
    expect((await ask('POST', `${path}/continue`)).status).toBe(409)
    await clock.advance(1_000)
    expect((await ask('GET', path)).json).toMatchObject({
      status: 'paused',
      redelivered: 1,
      tried: { outcome: 'refused', statusCode: 503, responseBody: 'still down' },
    })
    expect(await ask('POST', `${path}/continue`)).toMatchObject({
      status: 200,
      json: { status: 'running' },
    })
    await clock.advance(1_000)
    expect((await ask('GET', path)).json).toMatchObject({
      status: 'done',
      delivered: 1,
      exhausted: 1,
    })
    expect((await ask('POST', `/v1/recoveries/${UNKNOWN_ID}/continue`)).status).toBe(404)
  })
})

describe('POST /v1/recoveries/:id/cancel', () => {
  it('ends a running recovery', async () => {
    const { ask, service } = await openExhausted()
    await service.stop()
    const { id } = (await ask('POST', '/v1/recoveries')).json
    expect(await ask('POST', `/v1/recoveries/${id}/cancel`)).toMatchObject({
      status: 200,
      json: { id, status: 'cancelled', finishedAt: expect.any(String) },
    })
    expect((await ask('POST', `/v1/recoveries/${id}/cancel`)).status).toBe(409)
    expect((await ask('POST', `/v1/recoveries/${UNKNOWN_ID}/cancel`)).status).toBe(404)
    expect((await ask('GET', '/v1/recoveries/x')).status).toBe(404)
  })

  it('shows a recovery whose webhook was deleted as failed', async () => {
    const { ask, service, webhook } = await openExhausted()
    await service.stop()
    const { id } = (await ask('POST', '/v1/recoveries', { body: { webhookId: webhook.id } })).json
    await ask('DELETE', `/v1/webhooks/${webhook.id}`)
    await service.host.advanceRecovery()
    expect((await ask('GET', `/v1/recoveries/${id}`)).json).toMatchObject({
      status: 'failed',
      failure: 'webhook_deleted',
    })
  })
})

describe('POST /v1/agents/:id/retry-failed', () => {
  it('retries the failed messages of an agent of the own project', async () => {
    const { ask, clock, runtime, createSlowAgent, otherKey } = await openScene()
    const agent = await createSlowAgent({ maxAttempts: 1 })
    const path = `/v1/agents/${agent.id}`
    const asked = { body: aMessage(), headers: { Prefer: 'respond-async' } }
    const { messageId } = (await ask('POST', `${path}/messages`, asked)).json
    runtime.fail(messageId, 'broken')
    await clock.advance(100)
    expect((await ask('POST', `${path}/retry-failed`, { key: otherKey })).status).toBe(404)
    const wrong = await ask('POST', `${path}/retry-failed`, { body: { errorCode: 'LOST' } })
    expect(wrong.status).toBe(400)
    const body = { errorCode: 'RUNTIME_ERROR', createdAfter: '2029-12-31T00:00:00Z' }
    const { status, json } = await ask('POST', `${path}/retry-failed`, { body })
    expect([status, json.filter.agentId, json.filter.status]).toEqual([202, agent.id, 'failed'])
    await clock.advance(100)
    expect((await ask('GET', `/v1/recoveries/${json.id}`)).json).toMatchObject({
      status: 'sending',
      redelivered: 1,
      waiting: 1,
    })
  })
})
