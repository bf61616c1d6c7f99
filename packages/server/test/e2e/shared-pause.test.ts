import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { until } from './real-server.js'
import { sendMany, slowReceiver, twoServers } from './slow-receivers.js'

const MESSAGES = 200
const ANSWER_MS = 1_500

it('a pause by one server stops the deliveries that the other server holds', async () => {
  const servers = await twoServers(10_000)
  const slow = await slowReceiver(ANSWER_MS)
  const created = await servers[0].api('POST', '/v1/webhooks', {
    url: slow.url,
    events: ['message.responded'],
  })
  const { id } = (await created.json()) as { readonly id: string }
  await sendMany(servers, MESSAGES)
  // One server has 8 requests at a time at first.
  expect(await until(() => slow.counts.now > 8)).toBe(true)
  const paused = await servers[0].api('PATCH', `/v1/webhooks/${id}`, { paused: true })
  expect(paused.status).toBe(200)
  // The news takes a moment. Without the pause, a new request follows each answer.
  const isStill = async (): Promise<boolean> => {
    const before = slow.counts.received
    await sleep(2 * ANSWER_MS)
    return slow.counts.received === before
  }
  expect(await until(isStill)).toBe(true)
  expect(slow.counts.received).toBeLessThan(MESSAGES)
})
