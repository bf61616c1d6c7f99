import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { testPostgres, type TestPostgres } from '../../../adapter-postgres/test/test-postgres.js'
import { realServer, until, type RealServer } from './real-server.js'
import { receiver } from './receiver.js'

type Row = { readonly id: string; readonly status: string }

let postgres: TestPostgres
beforeAll(async () => {
  postgres = await testPostgres()
})
afterAll(() => postgres.close())

const jsonOf = async <T>(response: Promise<Response>): Promise<T> =>
  (await (await response).json()) as T

async function serverOn(store: string): Promise<RealServer> {
  const database = store === 'PostgreSQL' && { SERVICE_DATABASE_URL: await postgres.database() }
  return realServer({ env: { SERVICE_WEBHOOK_RETRY_SCHEDULE: '1s', ...database } })
}

describe.each(['SQLite', 'PostgreSQL'])('webhooks of published events on %s', (store) => {
  it('a thin body has the same bytes at each attempt, redelivery and recovery', async () => {
    const server = await serverOn(store)
    const hook = await receiver((n) => (n === 0 ? 500 : 200))
    try {
      const asked = { url: hook.url, events: ['order.*'], payload: 'thin' }
      const { id } = await jsonOf<Row>(server.api('POST', '/v1/webhooks', asked))
      const order = { type: 'order.paid', data: { amount: 12, secret: 'no' }, id: 'o/1 é' }
      await server.api('POST', '/v1/events', { ...order, sessionId: 's-1' })
      expect(await until(() => hook.received.length === 2)).toBe(true)
      // The form is that of the delivery, also when the webhook changes.
      await server.api('PATCH', `/v1/webhooks/${id}`, { payload: 'full' })
      const delivery = async () =>
        (await jsonOf<{ data: Row[] }>(server.api('GET', '/v1/deliveries'))).data[0] as Row
      const isDelivered = async () => (await delivery()).status === 'delivered'
      expect(await until(isDelivered)).toBe(true)
      await server.api('POST', `/v1/deliveries/${(await delivery()).id}/redeliver`)
      expect(await until(() => hook.received.length === 3)).toBe(true)
      expect(await until(isDelivered)).toBe(true)
      const again = { webhookId: id, status: 'delivered' }
      expect((await server.api('POST', '/v1/recoveries', again)).status).toBe(202)
      expect(await until(() => hook.received.length === 4)).toBe(true)

      const [first] = hook.received
      expect(hook.received.map(({ body }) => body)).toEqual(Array(4).fill(first?.body))
      const ids = hook.received.map(({ headers }) => headers['webhook-id'])
      expect(new Set(ids).size).toBe(1)
      const url = `${server.url}/v1/events/o%2F1%20%C3%A9`
      expect(JSON.parse(first?.body ?? '')).toEqual({
        event: 'order.paid',
        id: order.id,
        createdAt: expect.any(String),
        data: { sessionId: 's-1', url },
      })
      const whole = await jsonOf(server.api('GET', '/v1/events/o%2F1%20%C3%A9'))
      expect(whole).toMatchObject({ event: 'order.paid', data: order.data })
    } finally {
      await server.dispose()
      await hook.close()
    }
  }, 120_000)

  it('a filter on data chooses the events of a group by a range of numbers', async () => {
    const server = await serverOn(store)
    const hook = await receiver()
    const all = await receiver()
    try {
      const filter = {
        data: [
          { path: 'total.amount', min: 10, max: 100 },
          { path: 'country', equals: 'DE' },
        ],
      }
      const events = ['order.*']
      await server.api('POST', '/v1/webhooks', { url: hook.url, events, filter })
      await server.api('POST', '/v1/webhooks', { url: all.url, events: ['*'] })
      const order = (id: string, amount: unknown, more = {}) => ({
        type: 'order.paid',
        id,
        data: { total: { amount }, country: 'DE', ...more },
      })
      const given = [
        order('below', 9.99),
        order('least', 10),
        { ...order('group', 55.5), type: 'order.item.added' },
        order('most', 100),
        order('above', 100.01),
        order('text', '50'),
        order('none', null),
        order('elsewhere', 50, { country: 'FR' }),
        { ...order('another', 50), type: 'invoice.paid' },
      ]
      expect((await server.api('POST', '/v1/events', { events: given })).status).toBe(202)
      expect(await until(() => all.received.length === given.length)).toBe(true)
      const { data } = await jsonOf<{ data: Row[] }>(server.api('GET', '/v1/deliveries?limit=100'))
      expect(data).toHaveLength(given.length + 3)
      const chosen = ['group', 'least', 'most']
      expect(await until(() => hook.received.length === chosen.length)).toBe(true)
      const idsAt = ({ received }: typeof hook) =>
        received.map(({ body }) => (JSON.parse(body) as Row).id).sort()
      expect(idsAt(hook)).toEqual(chosen)
      expect(idsAt(all)).toEqual(given.map(({ id }) => id).sort())
    } finally {
      await server.dispose()
      await Promise.all([hook.close(), all.close()])
    }
  }, 120_000)
})
