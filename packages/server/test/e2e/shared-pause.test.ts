import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { until } from './real-server.js'
import { sendMany, slowReceiver, twoServers } from './slow-receivers.js'

it(
  'a pause by one server stops the deliveries that the other server holds',
  { timeout: 60_000 },
  async () => {
    const servers = await twoServers(10_000)
    const slow = await slowReceiver(1_500)
    const created = await servers[0].api('POST', '/v1/webhooks', {
      url: slow.url,
      events: ['message.responded'],
    })
    const { id } = (await created.json()) as { readonly id: string }
    await sendMany(servers, 100)
    // One server has 8 requests at a time at first.
    expect(await until(() => slow.counts.now > 8, 10_000)).toBe(true)
    const paused = await servers[0].api('PATCH', `/v1/webhooks/${id}`, { paused: true })
    expect(paused.status).toBe(200)
    // The news takes a moment. Each server has more deliveries than slots.
    await sleep(500)
    const before = slow.counts.received
    await sleep(3_000)
    expect(slow.counts.received).toBe(before)
  },
)
