// A server with a backlog of deliveries. The receivers are dead, or the webhooks are disabled until
// the drain.
import { answer } from './answer.mjs'
import { drained } from './drained.mjs'
import { openService } from './service.mjs'

const {
  database,
  url,
  deliveries,
  webhooks: WEBHOOKS = 10,
  enabled = false,
  perSession = 1,
  ordering,
} = JSON.parse(process.argv[2])
const CONCURRENCY = 100
let delivered = 0
const { service, projectId, webhookIds } = await openService({
  database,
  webhooks: Array.from({ length: WEBHOOKS }, () => url),
  enabled,
  ordering,
  telemetry: {
    record: ({ name, outcome }) =>
      (delivered += name === 'delivery.attempted' && outcome === 'accepted' ? 1 : 0),
  },
})

async function fill() {
  for (let sent = 0; sent < deliveries / WEBHOOKS; sent += CONCURRENCY) {
    const batch = Array.from(
      { length: Math.min(CONCURRENCY, deliveries / WEBHOOKS - sent) },
      (_, n) =>
        service.messages.send({
          projectId,
          agent: 'bench',
          sessionId: `${Math.floor((sent + n) / perSession)}`,
          message: 'x'.repeat(200),
        }),
    )
    await Promise.all(batch)
  }
}

async function enable() {
  await Promise.all(
    webhookIds.map((webhookId) =>
      service.webhooks.update({ projectId, webhookId, change: { enabled: true } }),
    ),
  )
}

async function drain({ uncounted }) {
  await enable()
  return drained(() => delivered, { uncounted, deliveries })
}
answer({}, { fill, enable, drain })
