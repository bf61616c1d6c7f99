import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { testPostgres } from '../../../adapter-postgres/test/test-postgres.js'
import { API_KEY, realServer, until, type RealServer } from './real-server.js'
import { receiver } from './receiver.js'

type Receiver = Awaited<ReturnType<typeof receiver>>
type Event = { readonly event: string; readonly data: Record<string, unknown> }

const eventsAt = ({ received }: Receiver): Event[] =>
  received.map(({ body }) => JSON.parse(body) as Event)

/** Real sockets, a real file and a server in a separate process. */
describe('events and filters', () => {
  let server: RealServer
  let all: Receiver
  let gold: Receiver
  let broken: Receiver
  let remote: Receiver

  const send = async (agent: string, sessionId: string, metadata: object) => {
    const route = `/v1/agents/${agent}/messages`
    const headers = { prefer: 'respond-async' }
    const sent = await server.api('POST', route, { sessionId, message: 'hi', metadata }, headers)
    return ((await sent.json()) as { messageId: string }).messageId
  }
  const named = (event: string) => eventsAt(all).filter((one) => one.event === event)

  beforeAll(async () => {
    server = await realServer({ env: { SERVICE_WEBHOOK_RETRY_SCHEDULE: '1s' } })
    all = await receiver()
    gold = await receiver()
    broken = await receiver(() => 500)
    remote = await receiver((n) => (n === 0 ? 400 : 202))
    const agents = [
      { name: 'echo', runtime: { kind: 'function', handler: 'echo' } },
      { name: 'remote', runtime: { kind: 'http', url: remote.url } },
    ]
    for (const agent of agents)
      expect((await server.api('POST', '/v1/agents', agent)).status).toBe(201)
    const filter = {
      sessionIdPrefix: 'vip/',
      metadata: [{ path: 'customer.plan', equals: 'gold' }],
    }
    for (const webhook of [
      { url: all.url, events: ['*'] },
      { url: gold.url, events: ['*'], filter },
      { url: broken.url, events: ['message.responded'], filter: { sessionIdPrefix: 'broken/' } },
    ])
      expect((await server.api('POST', '/v1/webhooks', webhook)).status).toBe(201)
  })
  afterAll(async () => {
    await server.dispose()
    await Promise.all([all, gold, broken, remote].map((one) => one.close()))
  })

  it('a failed message and a cancelled message are reported', async () => {
    const failed = await send('remote', 'one', { ticket: 1 })
    expect(await until(() => named('message.failed').length > 0)).toBe(true)
    const cancelled = await send('remote', 'two', { ticket: 2 })
    await server.api('POST', `/v1/agents/remote/messages/${cancelled}/cancel`)
    expect(await until(() => named('message.cancelled').length > 0)).toBe(true)
    const dataOf = (event: string) => named(event).map(({ data }) => data)
    const ofOne = { messageId: failed, sessionId: 'one', metadata: { ticket: 1 } }
    const ofTwo = { messageId: cancelled, sessionId: 'two', metadata: { ticket: 2 } }
    expect(dataOf('message.failed')).toMatchObject([ofOne])
    expect(dataOf('message.cancelled')).toMatchObject([ofTwo])
    expect(await until(() => named('agent.error').length === 2)).toBe(true)
    // Deliveries to one webhook can overtake each other.
    const failures = new Set(dataOf('agent.error').map(({ messageId }) => messageId))
    expect(failures).toEqual(new Set([failed, cancelled]))
  })

  it('a message of a session that is erased by force is reported as cancelled', async () => {
    const messageId = await send('remote', 'three', {})
    const route = '/v1/agents/remote/sessions/three'
    expect((await server.api('DELETE', route)).status).toBe(409)
    expect((await server.api('DELETE', `${route}?force=true`)).status).toBe(204)
    const isTold = () =>
      named('message.cancelled').some(({ data }) => data['messageId'] === messageId)
    expect(await until(isTold)).toBe(true)
  })

  it('a webhook gets only the events that match its filter', async () => {
    await send('echo', 'vip/1', { customer: { plan: 'silver' } })
    await send('echo', 'other/1', { customer: { plan: 'gold' } })
    await send('echo', 'vip/2', { customer: { plan: 'gold' } })
    const sessions = (one: Receiver) =>
      eventsAt(one).flatMap(({ event, data }) =>
        event === 'message.responded' ? [data['sessionId']] : [],
      )
    expect(await until(() => sessions(all).length === 3 && gold.received.length > 0)).toBe(true)
    expect(sessions(gold)).toEqual(['vip/2'])
    const { data } = (await (await server.api('GET', '/v1/deliveries?limit=100')).json()) as {
      data: { event: string }[]
    }
    // Three for the webhook without a filter, one for the webhook with a matching filter.
    expect(data.filter(({ event }) => event === 'message.responded')).toHaveLength(4)
  })

  it('an exhausted delivery is reported to the other webhooks', async () => {
    await send('echo', 'broken/1', {})
    expect(await until(() => named('delivery.exhausted').length > 0)).toBe(true)
    const [{ data }] = named('delivery.exhausted') as [Event]
    expect(data).toMatchObject({
      event: 'message.responded',
      attemptCount: 2,
      lastAttempt: { outcome: 'refused', statusCode: 500 },
    })
    expect(broken.received.map(({ headers }) => headers['x-service-delivery'])).toEqual([
      data['deliveryId'],
      data['deliveryId'],
    ])
  })
})

describe.each(['SQLite', 'PostgreSQL'])('on %s', (store) => {
  it('a cursor of another project gets 410, and a path with NUL gets 404', async () => {
    const postgres = store === 'PostgreSQL' ? await testPostgres() : undefined
    const database = postgres && { SERVICE_DATABASE_URL: await postgres.database() }
    const operatorKey = 'an-operator-key-for-the-tests'
    const env = { SERVICE_OPERATOR_KEY: operatorKey, SERVICE_ENDPOINTS: 'a2a,openai' }
    const server = await realServer({ env: { ...env, ...database } })
    try {
      const asOperator = { authorization: `Bearer ${operatorKey}` }
      const send = async (route: string, body: object): Promise<Record<string, string>> =>
        (await server.api('POST', route, body, asOperator)).json() as never
      const { id } = await send('/v1/projects', { name: 'another' })
      const permissions = ['project:events', 'project:agents']
      const { key } = await send(`/v1/projects/${id}/keys`, { name: 'key', permissions })
      const asOther = { authorization: `Bearer ${key}` }
      const agent = { name: 'one', runtime: { kind: 'function', handler: 'echo' } }
      for (const headers of [{}, asOther]) {
        await server.api('POST', '/v1/agents', agent, headers)
        await server.api('POST', '/v1/agents', { ...agent, name: 'two' }, headers)
      }
      const read = async (route: string, headers = {}) => {
        const answer = await server.api('GET', route, undefined, headers)
        return { status: answer.status, page: (await answer.json()) as EventPage }
      }
      const { data, nextCursor } = (await read('/v1/events?wait=1')).page
      for (const cursor of [...data.map((one) => one.cursor), nextCursor]) {
        expect((await read(`/v1/events?after=${cursor}`)).status).toBe(200)
        expect((await read(`/v1/events?after=${cursor}`, asOther)).status).toBe(410)
      }
      const unknown = '0198b2c4-6f0e-7a1b-8c2d-3e4f5a6b7c8d'
      for (const path of [
        '/inputs/%00/x',
        `/inputs/${unknown}/%00`,
        '/v1/agents/%00',
        '/v1/agents/one/sessions/%00',
        '/v1/principals/a%00b',
        `/v1/webhooks/${unknown}%00`,
        '/console/agents/%00',
        '/a2a/%00/.well-known/agent-card.json',
        '/openai/v1/models/%00',
        '/schemas/events/%00.json',
        '/%00',
      ]) {
        const authorization = `Bearer ${API_KEY}`
        const { status } = await fetch(server.url + path, { headers: { authorization } })
        expect([path, status]).toEqual([path, 404])
      }
      expect((await fetch(`${server.url}/inputs/${unknown}/x`)).status).toBe(404)
    } finally {
      await server.dispose()
      await postgres?.close()
    }
  })
})
type EventPage = {
  readonly data: readonly { readonly cursor: string }[]
  readonly nextCursor: string
}
