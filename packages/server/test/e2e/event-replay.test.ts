import path from 'node:path'
import Database from 'better-sqlite3'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { testPostgres, type TestPostgres } from '../../../adapter-postgres/test/test-postgres.js'
import { realServer, until, type RealServer } from './real-server.js'
import { receiver } from './receiver.js'

/** More than several pages of a recovery make. */
const COUNT = 1_500
const BATCH = 100
/** A process that is killed during its deliveries holds them as long as their leases. */
const SHORT_LEASES = { SERVICE_DELIVERY_TIMEOUT_MS: '2000', SERVICE_DELIVERY_LEASE_MS: '3000' }

type Recovery = { readonly status: string; readonly matched: number; readonly delivered: number }

let postgres: TestPostgres
beforeAll(async () => {
  postgres = await testPostgres()
})
afterAll(() => postgres.close())

const jsonOf = async <T>(response: Promise<Response>): Promise<T> =>
  (await (await response).json()) as T

/** Makes each page take long, so that the kill comes between two of them. */
async function slowPages({ folder }: RealServer, url: string | undefined): Promise<void> {
  if (url === undefined) {
    const db = new Database(path.join(folder, 'service.db'), { timeout: 60_000 })
    db.exec(`create trigger slow_pages after update of matched on recoveries begin
      select count(*) from events a, events b where a.seq + b.seq = 0; end`)
    db.close()
    return
  }
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await client.query(`
    create function slowly() returns trigger language plpgsql as
      $$ begin perform pg_sleep(0.2); return new; end $$;
    create trigger slow_pages before update of matched on agent_messaging.recoveries
      for each row execute function slowly()`)
  await client.end()
}

async function publishOrders({ api }: RealServer): Promise<void> {
  for (let from = 0; from < COUNT; from += BATCH) {
    const events = Array.from({ length: BATCH }, (_, n) => ({
      type: n % 2 === 0 ? 'order.paid' : 'order.sent',
      data: { no: from + n },
      id: `order-${from + n}`,
    }))
    expect((await api('POST', '/v1/events', { events })).status).toBe(202)
  }
  const other = { type: 'invoice.late', data: {}, id: 'invoice' }
  expect((await api('POST', '/v1/events', other)).status).toBe(202)
}

describe.each(['SQLite', 'PostgreSQL'])('a replay of published events on %s', (store) => {
  it('reaches a new webhook once for each event, although the server is killed', async () => {
    const hook = await receiver()
    const url = store === 'PostgreSQL' ? await postgres.database() : undefined
    const env = { ...SHORT_LEASES, ...(url && { SERVICE_DATABASE_URL: url }) }
    const one = await realServer({ env })
    const other = url === undefined ? undefined : await realServer({ env })
    try {
      await publishOrders(one)
      await one.kill('SIGTERM')
      await slowPages(one, url)
      await one.start()
      const body = { url: hook.url, events: ['order.*'] }
      const webhook = await jsonOf<{ id: string }>(one.api('POST', '/v1/webhooks', body))
      const events = { webhookIds: [webhook.id], createdAfter: '2020-01-01T00:00:00Z' }
      const { id } = await jsonOf<{ id: string }>(one.api('POST', '/v1/recoveries', { events }))
      const read = (from: RealServer) => jsonOf<Recovery>(from.api('GET', `/v1/recoveries/${id}`))
      expect(await until(async () => (await read(one)).matched > 0)).toBe(true)
      await one.kill('SIGKILL')
      if (!other) await one.start()
      const survivor = other ?? one
      const killed = await read(survivor)
      expect(killed).toMatchObject({ status: 'running' })
      expect(killed.matched).toBeLessThan(COUNT)

      expect(await until(async () => (await read(survivor)).status === 'done')).toBe(true)
      expect(await read(survivor)).toMatchObject({ matched: COUNT, delivered: COUNT })
      const sent = hook.received.map(({ headers, body: text }) => ({
        delivery: headers['webhook-id'],
        event: (JSON.parse(text) as { id: string }).id,
      }))
      const deliveries = new Map(sent.map(({ delivery, event }) => [delivery, event]))
      const orders = Array.from({ length: COUNT }, (_, n) => `order-${n}`)
      expect([...deliveries.values()].sort()).toEqual(orders.sort())
    } finally {
      await other?.dispose()
      await one.dispose()
      await hook.close()
    }
  }, 240_000)
})
