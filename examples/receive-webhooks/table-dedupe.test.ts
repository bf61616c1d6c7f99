import { nodeWebhookHandler, signTestEvent } from '@org/agent-messaging-client/webhooks'
import type pg from 'pg'
import { afterAll, beforeAll, expect, it } from 'vitest'
import {
  testPostgres,
  type TestPostgres,
} from '../../packages/adapter-postgres/test/test-postgres.js'
import { TABLE, tableDedupe } from './table-dedupe.mjs'

let postgres: TestPostgres
let pool: pg.Pool
beforeAll(async () => {
  postgres = await testPostgres()
  pool = await postgres.pool()
  await pool.query(TABLE)
})
afterAll(async () => {
  await pool.end()
  await postgres.close()
})

it('one of several processes handles a delivery, and the others see it as done', async () => {
  const [one, other] = [tableDedupe(pool), tableDedupe(pool)]
  const begun = await Promise.all(
    Array.from({ length: 20 }, (_, n) => (n % 2 ? one : other).begin('delivery')),
  )
  expect(begun.filter((state) => state === 'begun')).toHaveLength(1)
  expect(begun.filter((state) => state === 'busy')).toHaveLength(19)
  await one.finish('delivery')
  expect(await other.begin('delivery')).toBe('done')
})

it('a delivery can begin again after its handler failed, and a minute after a crash', async () => {
  const dedupe = tableDedupe(pool)
  expect(await dedupe.begin('failed')).toBe('begun')
  await dedupe.abandon('failed')
  expect(await dedupe.begin('failed')).toBe('begun')
  await pool.query("update webhook_deliveries set changed_at = now() - interval '2 minutes'")
  expect(await Promise.all([dedupe.begin('failed'), dedupe.begin('failed')])).toEqual(
    expect.arrayContaining(['begun', 'busy']),
  )
})

it('the handler of the client accepts the store', async () => {
  const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`
  const seen: string[] = []
  const handle = nodeWebhookHandler({
    secret,
    dedupe: tableDedupe(pool),
    on: { 'webhook.test': ({ data }) => void seen.push(data.webhookId) },
  })
  const event = {
    event: 'webhook.test',
    id: '1',
    createdAt: '2026-01-01T00:00:00.000Z',
    data: { webhookId: 'w-1' },
  } as const
  const { body, headers } = await signTestEvent(event, secret)
  const send = async (): Promise<number> => {
    const response = { statusCode: 0, end: () => undefined }
    const request = Object.assign((async function* () {})(), { headers, body: Buffer.from(body) })
    await handle(request, response)
    return response.statusCode
  }
  expect([await send(), await send()]).toEqual([200, 200])
  expect(seen).toEqual(['w-1'])
})
