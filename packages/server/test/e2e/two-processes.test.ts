import { afterAll, beforeAll, expect, it } from 'vitest'
import { CRON_SECRET, realServer, until, type RealServer } from './real-server.js'
import { ONE_SESSION, sendFromFourSessions } from './one-session.js'
import { receiver } from './receiver.js'

type Receiver = Awaited<ReturnType<typeof receiver>>
const SCHEDULE = { SERVICE_WEBHOOK_RETRY_SCHEDULE: '1s' }

let one: RealServer
let other: RealServer
let hook: Receiver

beforeAll(async () => {
  one = await realServer({ env: SCHEDULE })
  other = await realServer({ beside: one, env: SCHEDULE, args: ['--no-worker'] })
  // A retry can come before the first attempts of other deliveries.
  const failed = new Set<unknown>()
  hook = await receiver((_, { 'x-service-delivery': id }) => {
    if (failed.has(id)) return 200
    failed.add(id)
    return 500
  })
  const agent = {
    name: 'echo',
    runtime: { kind: 'function', handler: 'echo' },
    desiredState: 'running',
  }
  expect((await one.api('POST', '/v1/agents', agent)).status).toBe(201)
})
afterAll(async () => {
  await other.dispose()
  await one.dispose()
  await hook.close()
})

it('G2: 100 sends with one key to two processes create one message, and all get its answer', async () => {
  const body = { sessionId: 's', message: 'once' }
  const sends = Array.from({ length: 100 }, (_, n) =>
    (n % 2 ? one : other).api('POST', '/v1/agents/echo/messages', body, {
      'idempotency-key': 'the-key',
    }),
  )
  const answers = await Promise.all(
    (await Promise.all(sends)).map(async (response) => ({
      status: response.status,
      body: await response.json(),
    })),
  )
  expect(new Set(answers.map((answer) => JSON.stringify(answer))).size).toBe(1)
  expect(answers[0]).toMatchObject({ status: 200, body: { status: 'responded', response: 'once' } })
  const { data } = (await (await one.api('GET', '/v1/agents/echo/messages')).json()) as {
    data: { attempt: number }[]
  }
  expect(data).toMatchObject([{ attempt: 1 }])
})

it('G2: 100 sends with one key in four sessions create one message, and only its session gets it', async () => {
  expect(await sendFromFourSessions([one, other], 'echo')).toEqual(ONE_SESSION)
})

it('20 concurrent cron calls in two processes attempt each due delivery once', async () => {
  // Three failures per webhook open no circuit, which would hold back the rest.
  for (let n = 0; n < 10; n++)
    await one.api('POST', '/v1/webhooks', { url: hook.url, events: ['message.responded'] })
  const sends = Array.from({ length: 3 }, (_, n) =>
    one.api('POST', '/v1/agents/echo/messages', { sessionId: `${n}`, message: 'hi' }),
  )
  for (const { status } of await Promise.all(sends)) expect(status).toBe(200)
  expect(await until(() => hook.received.length >= 30)).toBe(true)

  const cron = { authorization: `Bearer ${CRON_SECRET}` }
  const allDelivered = async (): Promise<boolean> => {
    await Promise.all(
      Array.from({ length: 20 }, (_, n) =>
        (n % 2 ? one : other).api('POST', '/api/cron/webhooks', undefined, cron),
      ),
    )
    const { data } = (await (
      await one.api('GET', '/v1/deliveries?status=delivered&limit=100')
    ).json()) as { data: unknown[] }
    return data.length === 30
  }
  expect(await until(allDelivered)).toBe(true)
  const ids = hook.received.map(({ headers }) => headers['x-service-delivery'])
  expect(ids).toHaveLength(60)
  expect(new Set(ids).size).toBe(30)
})
