import type { Policy } from '@org/agent-messaging-core'
import { refused, unreachable } from '@org/agent-messaging-testing'
import { describe, expect, it } from 'vitest'
import { aMessage, openScene, UNKNOWN_ID } from '../../test/scene.js'

const url = 'https://receiver.example/hook'

async function openDelivered(policy: Partial<Policy> = {}) {
  const scene = await openScene({ policy })
  const { ask, clock, createAgent, sender } = scene
  sender.script(refused(503, 60_000), unreachable('dns'))
  const webhook = (
    await ask('POST', '/v1/webhooks', { body: { url, events: ['message.responded'] } })
  ).json
  const agent = await createAgent()
  const sent = (
    await ask('POST', `/v1/agents/${agent.id}/messages`, {
      body: aMessage({ metadata: { channel: 'c' } }),
    })
  ).json
  await clock.until(() => sender.requests.length === 1)
  await clock.advance(0)
  const [delivery] = (await ask('GET', '/v1/deliveries')).json.data
  return { ...scene, agent, delivery, sent, webhook }
}

describe('GET …/story', () => {
  it('says why a receiver does not have the answer', async () => {
    const { ask, delivery, keyWith, sent, webhook } = await openDelivered()
    const path = `/v1/messages/${sent.messageId}/story`
    const story = (await ask('GET', path)).json
    const why =
      'https://receiver.example/hook does not have message.responded: it answers 503 since ' +
      '2030-01-01T00:00:00.000Z. The next attempt is at 2030-01-01T00:01:00.000Z.'
    expect(story.text).toMatch(/^Agent \S+ answered at 2030-01-01T00:00:00.000Z\. /)
    expect(story.text.endsWith(`. ${why}`)).toBe(true)
    const webhookPart = { kind: 'webhook', text: url, id: webhook.id }
    expect(story.sentences).toMatchObject([
      { cause: 'answered' },
      { cause: 'undelivered' },
      { cause: 'backing_off', parts: expect.arrayContaining([webhookPart]) },
    ])
    expect(story.text).toContain(' 0 of 1 receivers have message.responded. ')
    const ofDelivery = (await ask('GET', `/v1/deliveries/${delivery.id}/story`)).json
    expect(ofDelivery.text).toBe(why)
    const { key } = await keyWith(['project:message'])
    expect((await ask('GET', path, { key })).json.sentences).toMatchObject([{ cause: 'answered' }])
    const { key: other } = await keyWith(['project:webhooks'])
    expect((await ask('GET', path, { key: other })).status).toBe(403)
  })

  it('answers 404 without the row', async () => {
    const { ask } = await openScene()
    for (const rows of ['messages', 'deliveries'])
      expect((await ask('GET', `/v1/${rows}/${UNKNOWN_ID}/story`)).status).toBe(404)
  })
})

describe('GET /v1/deliveries/:id', () => {
  it('shows every attempt and the exact body', async () => {
    const { ask, clock, delivery, sender, webhook } = await openDelivered()
    const listed = {
      id: delivery.id,
      webhookId: webhook.id,
      eventId: expect.any(String),
      event: 'message.responded',
    }
    const pending = {
      ...listed,
      status: 'pending',
      attemptCount: 1,
      nextAttemptAt: '2030-01-01T00:01:00.000Z',
      createdAt: '2030-01-01T00:00:00.000Z',
    }
    expect(delivery).toEqual(pending)
    const refusal = {
      attemptNumber: 1,
      startedAt: '2030-01-01T00:00:00.000Z',
      durationMs: 0,
      url: 'https://receiver.example/hook',
      requestHeaders: sender.requests[0]?.headers,
      outcome: 'refused',
      statusCode: 503,
      responseBody: '',
    }
    const path = `/v1/deliveries/${delivery.id}`
    expect((await ask('GET', path)).json).toEqual({
      ...pending,
      body: sender.requests[0]?.body,
      attempts: [refusal],
    })

    await clock.until(async () => (await ask('GET', path)).json.status === 'delivered', {
      maxMs: 600_000,
      stepMs: 1_000,
    })
    const { json } = await ask('GET', path)
    expect(json).toMatchObject({
      status: 'delivered',
      attemptCount: 3,
      deliveredAt: expect.any(String),
    })
    expect(json).not.toHaveProperty('nextAttemptAt')
    expect(json.attempts).toMatchObject([
      refusal,
      { attemptNumber: 2, outcome: 'unreachable', error: 'dns', detail: 'told: dns' },
      { outcome: 'accepted', statusCode: 200 },
    ])
    expect(new Set(sender.requests.map(({ body }) => body))).toEqual(new Set([json.body]))
    expect(JSON.parse(json.body)).toMatchObject({
      event: 'message.responded',
      data: { channel: 'c' },
    })
  })

  it('shows a delivery that is being sent as pending', async () => {
    const { ask, clock, sender, webhook } = await openDelivered()
    sender.hold()
    await clock.until(() => sender.held === 1, { maxMs: 120_000, stepMs: 1_000 })
    const [delivery] = (await ask('GET', `/v1/deliveries?webhookId=${webhook.id}`)).json.data
    expect(delivery.status).toBe('pending')
    expect(delivery).not.toHaveProperty('nextAttemptAt')
  })

  it('shows a delivery of a deleted webhook as cancelled, with the reason', async () => {
    const { ask, clock, delivery, service, webhook } = await openDelivered()
    await ask('DELETE', `/v1/webhooks/${webhook.id}`)
    await clock.advance(0)
    await service.tick({ budgetMs: 1 })
    const { json } = await ask('GET', `/v1/deliveries/${delivery.id}`)
    expect(json).toMatchObject({
      status: 'cancelled',
      cancelledAt: expect.any(String),
      cancelledReason: 'webhook_deleted',
    })
  })

  it('shows a delivery whose schedule has ended as exhausted', async () => {
    const { ask, clock, delivery } = await openDelivered({
      retry: { delaysMs: [1_000], jitter: 0, maxRetryAfterMs: 0 },
    })
    const path = `/v1/deliveries/${delivery.id}`
    await clock.until(async () => (await ask('GET', path)).json.status === 'exhausted')
    expect((await ask('GET', path)).json).toMatchObject({
      attemptCount: 2,
      exhaustedAt: expect.any(String),
    })
  })

  it('answers 404 for a missing delivery', async () => {
    const { ask } = await openScene()
    for (const id of [UNKNOWN_ID, 'x'])
      expect((await ask('GET', `/v1/deliveries/${id}`)).json.error.message).toBe('No such delivery')
  })
})

describe('GET /v1/deliveries', () => {
  it('lists newest first, by webhook, event and status, without bodies', async () => {
    const { agent, ask, clock, delivery, sender } = await openDelivered()
    const all = (await ask('POST', '/v1/webhooks', { body: { url, events: ['*'] } })).json
    await ask('POST', `/v1/agents/${agent.id}/messages`, { body: aMessage() })
    await clock.until(() => sender.requests.length === 3)
    await clock.advance(0)
    const listed = async (query: string) => (await ask('GET', `/v1/deliveries?${query}`)).json.data
    expect(await listed('')).toHaveLength(3)
    expect((await listed(''))[2]).toEqual(delivery)
    expect(await listed(`webhookId=${all.id.toUpperCase()}`)).toHaveLength(1)
    expect(await listed('event=agent.stopped')).toEqual([])
    expect(await listed('event=message.responded&status=delivered')).toHaveLength(1)
    const page = (await ask('GET', '/v1/deliveries?limit=2')).json
    expect((await ask('GET', `/v1/deliveries?cursor=${page.nextCursor}`)).json).toEqual({
      data: [delivery],
      nextCursor: null,
    })
  })

  it.each(['webhookId=x', 'event=message.lost', 'status=sending', 'cursor=%FF', 'limit=-1'])(
    'refuses ?%s',
    async (query) => {
      const { ask } = await openScene()
      expect((await ask('GET', `/v1/deliveries?${query}`)).json.error.issues).toEqual([
        { path: query.split('=')[0], message: expect.any(String) },
      ])
    },
  )
})

describe('actions on deliveries', () => {
  it('redelivers a delivery, and cancels it', async () => {
    const { ask, clock, delivery, sender } = await openDelivered()
    const redelivered = await ask('POST', `/v1/deliveries/${delivery.id}/redeliver`)
    expect(redelivered).toMatchObject({ status: 202, json: { id: delivery.id, status: 'pending' } })
    await clock.until(() => sender.requests.length === 2)
    await clock.advance(0)
    const cancelled = await ask('POST', `/v1/deliveries/${delivery.id}/cancel`)
    expect(cancelled).toMatchObject({
      status: 200,
      json: { status: 'cancelled', cancelledReason: 'operator', attemptCount: 2 },
    })
    expect(await ask('POST', `/v1/deliveries/${delivery.id}/cancel`)).toMatchObject({
      status: 409,
      json: { error: { code: 'CONFLICT' } },
    })
    expect((await ask('POST', `/v1/deliveries/${UNKNOWN_ID}/redeliver`)).status).toBe(404)
  })
  it('shows which delivery blocks the session, and skips it', async () => {
    const { agent, ask, clock, sender } = await openDelivered()
    const body = { url, events: ['*'], ordering: 'session' }
    const ordered = (await ask('POST', '/v1/webhooks', { body })).json
    expect(ordered.ordering).toBe('session')
    sender.hold()
    for (const message of ['one', 'two'])
      await ask('POST', `/v1/agents/${agent.id}/messages`, {
        body: { ...aMessage(), sessionId: 'ordered', message },
      })
    await clock.advance(0)
    const listed = async () =>
      (await ask('GET', `/v1/deliveries?webhookId=${ordered.id}`)).json.data
    const [second, first] = await listed()
    expect(second).toMatchObject({ status: 'pending', attemptCount: 0, blockedBy: first.id })
    expect(second).not.toHaveProperty('nextAttemptAt')
    expect(first).not.toHaveProperty('blockedBy')
    const path = `/v1/deliveries/${first.id}/skip`
    expect(await ask('POST', path)).toMatchObject({
      status: 200,
      json: { id: first.id, status: 'cancelled', cancelledReason: 'skipped' },
    })
    expect(await ask('POST', path)).toMatchObject({
      status: 409,
      json: { error: { code: 'CONFLICT' } },
    })
    expect((await ask('POST', `/v1/deliveries/${UNKNOWN_ID}/skip`)).status).toBe(404)
    expect((await listed())[0]).not.toHaveProperty('blockedBy')
  })
  it('refuses to redeliver a delivery that is being sent', async () => {
    const { ask, clock, delivery, sender } = await openDelivered()
    sender.hold()
    await clock.until(() => sender.held === 1, { maxMs: 120_000, stepMs: 1_000 })
    expect((await ask('POST', `/v1/deliveries/${delivery.id}/redeliver`)).status).toBe(409)
  })
  it('lists the deliveries of a period', async () => {
    const { ask } = await openDelivered()
    const count = async (query: string) =>
      (await ask('GET', `/v1/deliveries?${query}`)).json.data.length
    expect(await count('createdAfter=2030-01-01T00:00:00Z')).toBe(1)
    expect(await count('createdBefore=2030-01-01T00:00:00Z')).toBe(0)
  })
})

describe('the query of a list', () => {
  it.each([
    '/v1/deliveries',
    '/v1/agents',
    '/v1/agents/echo/messages',
    '/v1/agents/echo/sessions',
    '/v1/webhooks',
    '/v1/keys',
    '/v1/principals/u',
  ])('of %s refuses parameters that the list does not know', async (path) => {
    const { ask } = await openScene()
    const { status, json } = await ask('GET', `${path}?message_id=m&Limit=3`)
    expect([status, json.error.code]).toEqual([400, 'BAD_REQUEST'])
    expect(json.error.issues).toEqual([
      {
        path: 'query',
        message: expect.stringMatching(
          /^has unknown parameters: message_id, Limit. Known parameters: (limit, )?cursor/,
        ),
      },
    ])
  })

  it('refuses a repeated parameter', async () => {
    const { ask } = await openScene()
    expect(await ask('GET', '/v1/deliveries?limit=3&limit=4')).toMatchObject({
      status: 400,
      json: { error: { issues: [{ path: 'limit' }] } },
    })
  })
})

describe('GET /v1/deliveries?messageId=', () => {
  it('lists the deliveries of a message, and with ?sessionId= the deliveries of a session', async () => {
    const { ask, clock, createAgent } = await openScene()
    const { id } = await createAgent()
    await ask('POST', '/v1/webhooks', {
      body: { url: 'https://receiver.example/hook', events: ['message.responded'] },
    })
    const send = async (sessionId: string): Promise<string> =>
      (await ask('POST', `/v1/agents/${id}/messages`, { body: { sessionId, message: 'hi' } })).json
        .messageId
    const messages = [await send('a'), await send('a'), await send('b')]
    await clock.advance(0)
    const bodiesOf = async (query: string): Promise<string[]> => {
      const { data } = (await ask('GET', `/v1/deliveries?${query}`)).json
      const details = data.map(({ id }: { id: string }) => ask('GET', `/v1/deliveries/${id}`))
      return (await Promise.all(details)).map(({ json }) => JSON.parse(json.body).data.messageId)
    }
    expect(await bodiesOf(`messageId=${messages[0]}`)).toEqual([messages[0]])
    expect(await bodiesOf('sessionId=a')).toEqual([messages[1], messages[0]])
    expect(await bodiesOf(`sessionId=b&messageId=${messages[0]}`)).toEqual([])
    expect((await ask('GET', '/v1/deliveries?messageId=no-uuid')).status).toBe(400)
  })
})
