import { describe, expect, it } from 'vitest'
import { openScene } from '../../test/scene.js'

const paid = { type: 'order.paid', data: { orderId: 'o-42' }, id: 'order-42-paid' }
const REPLAYED = 'idempotent-replayed'

describe('an event that a host publishes', () => {
  it('is answered with its id, and read with its data', async () => {
    const { ask, otherKey } = await openScene()
    const { status, json } = await ask('POST', '/v1/events', {
      body: { ...paid, sessionId: 's', metadata: { channel: 'C1', plan: 'gold' } },
    })
    expect([status, json]).toEqual([202, { id: paid.id }])
    const path = `/v1/events/${paid.id}`
    expect((await ask('GET', path)).json).toEqual({
      event: 'order.paid',
      id: paid.id,
      createdAt: '2030-01-01T00:00:00.000Z',
      data: {
        orderId: 'o-42',
        sessionId: 's',
        metadata: { channel: 'C1', plan: 'gold' },
        channel: 'C1',
      },
    })
    expect((await ask('GET', path, { key: otherKey })).status).toBe(404)
    expect((await ask('GET', '/v1/events/unknown')).status).toBe(404)
    expect((await ask('GET', '/v1/events')).json.data).toMatchObject([{ event: { id: paid.id } }])
  })

  it('has an id of its own if it has none', async () => {
    const { ask } = await openScene()
    const { json } = await ask('POST', '/v1/events', { body: { type: 'a.b', data: {} } })
    expect((await ask('GET', `/v1/events/${json.id}`)).json).toMatchObject({
      id: json.id,
      data: {},
    })
  })

  it('is published once for its id, and once for a key', async () => {
    const { ask } = await openScene()
    const publish = async (body: object, key?: string) => {
      const headers = key === undefined ? {} : { 'Idempotency-Key': key }
      const { status, json, headers: got } = await ask('POST', '/v1/events', { body, headers })
      return [status, got.get(REPLAYED), json.error?.code ?? json.id]
    }
    const { id: _, ...unnamed } = paid
    expect(await publish(paid)).toEqual([202, null, paid.id])
    expect(await publish(paid)).toEqual([202, 'true', paid.id])
    expect(await publish({ ...paid, data: {} })).toEqual([422, null, 'IDEMPOTENCY_MISMATCH'])
    const [, , first] = await publish(unnamed, 'k')
    expect(await publish(unnamed, 'k')).toEqual([202, 'true', first])
    expect(await publish({ ...unnamed, type: 'order.lost' }, 'k')).toEqual([
      422,
      null,
      'IDEMPOTENCY_MISMATCH',
    ])
    expect((await ask('GET', '/v1/events')).json.data).toHaveLength(2)
  })

  it.each([
    ['no type', { data: {} }, 'type'],
    ['one word', { ...paid, type: 'order' }, 'type'],
    ['a name of the service', { ...paid, type: 'message.responded' }, 'type'],
    ['no data', { type: 'a.b' }, 'data'],
    ['a list as data', { ...paid, data: [] }, 'data'],
    ['NUL in data', { ...paid, data: { text: '\0' } }, 'data'],
    ['long data', { ...paid, data: { text: 'x'.repeat(65_536) } }, 'data'],
    ['an empty id', { ...paid, id: '' }, 'id'],
    ['a long id', { ...paid, id: 'x'.repeat(256) }, 'id'],
    ['an unknown agent', { ...paid, agentId: '0198b2c4-0000-7a1b-8c2d-3e4f5a6b7c8d' }, 'agentId'],
    ['an unknown field', { ...paid, executionPrincipal: {} }, 'body'],
    ['a session in both', { ...paid, sessionId: 's', data: { sessionId: 't' } }, 'data.sessionId'],
    ['no events', { events: [] }, 'events'],
    ['a wrong event', { events: [paid, { ...paid, id: 'b', type: 'x' }] }, 'events.1.type'],
    ['one id twice', { events: [paid, paid] }, 'events.1.id'],
    ['too many events', { events: Array.from({ length: 101 }, () => paid) }, 'events'],
  ])('%s is refused, and nothing is stored', async (_, body, path) => {
    const { ask } = await openScene()
    const { status, json } = await ask('POST', '/v1/events', { body })
    expect([status, json.error.issues]).toEqual([400, [expect.objectContaining({ path })]])
    expect((await ask('GET', '/v1/events')).json.data).toEqual([])
  })

  it('several are published in their order', async () => {
    const { ask } = await openScene()
    const events = ['a', 'b', 'c'].map((id) => ({ ...paid, id }))
    const { status, json } = await ask('POST', '/v1/events', { body: { events } })
    expect([status, json]).toEqual([202, { data: [{ id: 'a' }, { id: 'b' }, { id: 'c' }] }])
    const again = await ask('POST', '/v1/events', { body: { events } })
    expect(again.headers.get(REPLAYED)).toBe('true')
    const other = [...events.slice(1), { ...paid, id: 'a', type: 'order.lost' }]
    const refused = await ask('POST', '/v1/events', { body: { events: other } })
    expect([refused.status, refused.json.error.message]).toEqual([
      422,
      'events.2.id was already used for another event',
    ])
  })

  it('is erased with its session and with its agent', async () => {
    const { ask, createAgent } = await openScene()
    const agent = await createAgent()
    const of = { ...paid, agentId: agent.id }
    const events = [
      { ...of, id: 'a', sessionId: 's' },
      { ...of, id: 'b', sessionId: 't' },
    ]
    await ask('POST', '/v1/events', { body: { events } })
    const session = `/v1/agents/${agent.id}/sessions/s`
    expect((await ask('DELETE', session)).status).toBe(204)
    expect((await ask('DELETE', session)).status).toBe(404)
    expect((await ask('GET', '/v1/events/a')).status).toBe(404)
    expect((await ask('GET', '/v1/events/b')).status).toBe(200)
    await ask('DELETE', `/v1/agents/${agent.id}`)
    expect((await ask('GET', '/v1/events/b')).status).toBe(404)
  })
})

describe('the events of a project', () => {
  const url = 'https://receiver.example/hook'

  it('say why a webhook does not have them', async () => {
    const { ask, keyWith, otherKey } = await openScene()
    const data = [{ path: 'amount', min: 20 }]
    for (const given of [
      { events: ['order.paid'] },
      { events: ['invoice.*'] },
      { events: ['order.*'], filter: { data } },
    ])
      await ask('POST', '/v1/webhooks', { body: { url, ...given } })
    await ask('POST', '/v1/events', { body: { ...paid, data: { amount: 12 } } })
    const path = `/v1/events/${paid.id}/story`
    const { key } = await keyWith(['project:webhooks'])
    const { json } = await ask('GET', path, { key })
    expect(json.sentences.map(({ cause }: { cause: string }) => cause).toSorted()).toEqual([
      'delivered',
      'filtered_out',
      'not_subscribed',
    ])
    expect(json.text).toContain('does not match order.paid: data: amount from 20.')
    expect(json.text).toContain('does not subscribe to order.paid. It subscribes to invoice.*.')
    const { key: publisher } = await keyWith(['project:publish'])
    expect((await ask('GET', path, { key: publisher })).status).toBe(403)
    expect((await ask('GET', path, { key: otherKey })).status).toBe(404)
    const found = await ask('GET', `/v1/deliveries?eventId=${paid.id}`)
    expect(found.json.data).toMatchObject([{ eventId: paid.id }])
  })

  it('are listed, newest first', async () => {
    const { ask } = await openScene()
    for (const [at, type] of ['a.b', 'order.paid', 'order.sent', 'a.c'].entries())
      await ask('POST', '/v1/events', { body: { type, data: {}, id: `e${at}` } })
    const list = async (query: string) => {
      const { json } = await ask('GET', `/v1/recent-events?${query}`)
      return [json.data.map(({ id }: { id: string }) => id), json.nextCursor]
    }
    expect((await ask('GET', '/v1/recent-events?limit=1')).json).toEqual({
      data: [
        { id: 'e3', event: 'a.c', createdAt: '2030-01-01T00:00:00.000Z', hasDeliveries: false },
      ],
      nextCursor: expect.any(String),
    })
    const [first, cursor] = await list('limit=3')
    expect(first).toEqual(['e3', 'e2', 'e1'])
    expect(await list(`limit=3&cursor=${cursor}`)).toEqual([['e0'], null])
    expect(await list('type=order.*&published=true')).toEqual([['e2', 'e1'], null])
    const [one, rest] = await list('type=order.*&limit=1')
    expect(one).toEqual(['e2'])
    expect(await list(`type=order.*&cursor=${rest}`)).toEqual([['e1'], null])
    expect(await list('createdAfter=2030-01-02T00:00:00Z')).toEqual([[], null])
    expect(await list('createdBefore=2029-01-02T00:00:00Z')).toEqual([[], null])
    expect((await ask('GET', '/v1/recent-events?cursor=7')).status).toBe(400)
  })
})
