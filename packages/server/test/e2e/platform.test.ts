import { Webhook as StandardWebhook } from 'standardwebhooks'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { testPostgres, type TestPostgres } from '../../../adapter-postgres/test/test-postgres.js'
import { realServer, until, type RealServer } from './real-server.js'
import { receiver } from './receiver.js'

const OPERATOR_KEY = 'the-operator-key-of-these-tests'
const PERMISSIONS = [
  'platform:projects',
  'project:publish',
  'project:portals',
  'project:webhooks',
] as const
const ORDER = {
  schema: { type: 'object', required: ['orderId'] },
  example: { orderId: 'o-1' },
  visible: true,
}

let postgres: TestPostgres
beforeAll(async () => {
  postgres = await testPostgres()
})
afterAll(() => postgres.close())

/** The customer opens the link, and registers a webhook in the form. Returns its secret. */
async function registerIn(link: string, url: string): Promise<string> {
  const opened = await fetch(link, { redirect: 'manual' })
  const cookie = opened.headers.getSetCookie().map((each) => each.split(';')[0])
  const { origin } = new URL(link)
  const headers = { cookie: cookie.join('; '), origin }
  const list = await (await fetch(`${origin}/console/webhooks`, { headers })).text()
  expect(list).toContain('value="order.paid"')
  const body = new URLSearchParams({ url, events: 'order.paid' })
  const answer = await fetch(`${origin}/console/webhooks`, { method: 'POST', headers, body })
  const [secret] = /whsec_[A-Za-z0-9+/=]+/.exec(await answer.text()) ?? []
  if (secret === undefined) throw new Error(`the form answered ${answer.status}`)
  return secret
}

describe.each(['sqlite', 'postgres'])('a platform on %s', (store) => {
  it('publishes to a customer who chose the type in the portal, with one key', async () => {
    const hook = await receiver()
    const server: RealServer = await realServer({
      env: {
        SERVICE_CONSOLE: 'on',
        SERVICE_OPERATOR_KEY: OPERATOR_KEY,
        SERVICE_STRICT_EVENT_TYPES: 'on',
        ...(store === 'postgres' && { SERVICE_DATABASE_URL: await postgres.database() }),
      },
    })
    const call = async (key: string, method: string, route: string, body: object) => {
      const authorization = `Bearer ${key}`
      const answer = await server.api(method, route, body, { authorization })
      return { status: answer.status, json: (await answer.json()) as Record<string, string> }
    }
    const platform = { name: 'our product', permissions: PERMISSIONS }
    const { key = '' } = (await call(OPERATOR_KEY, 'POST', '/v1/platform-keys', platform)).json
    await call(OPERATOR_KEY, 'PUT', '/v1/operator/event-types/order.paid', ORDER)
    await call(key, 'POST', '/v1/projects', { name: 'Customer 42', externalId: 'customer-42' })
    const of = (path: string) => `/v1/projects/customer-42${path}`
    const { url = '' } = (await call(key, 'POST', of('/portal-links'), {})).json
    const secret = await registerIn(url.replace(/^https?:\/\/[^/]+/, server.url), hook.url)

    const event = { type: 'order.paid', data: { orderId: 'o-42' }, id: 'order-42' }
    expect(await call(key, 'POST', of('/events'), event)).toMatchObject({ status: 202 })
    const wrong = { ...event, id: 'order-43', data: {} }
    expect(await call(key, 'POST', of('/events'), wrong)).toMatchObject({ status: 400 })
    expect(await call(key, 'POST', '/v1/events', event)).toMatchObject({ status: 403 })
    expect(await until(() => hook.received.length > 0)).toBe(true)
    const [{ headers, body } = { headers: {}, body: '' }] = hook.received
    const verified = new StandardWebhook(secret).verify(body, headers as Record<string, string>)
    expect(verified).toMatchObject({ event: 'order.paid', id: 'order-42', data: event.data })
    await server.dispose()
    await hook.close()
  })
})
