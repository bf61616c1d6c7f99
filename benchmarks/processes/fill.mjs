// Stores `messages` answered messages, ten per session. Each has a random idempotency key, an
// event and a finished delivery. Calls the store, because HTTP would take hours.
import { randomUUID } from 'node:crypto'
import { freezeEvent } from '@org/agent-messaging-core/storage'
import { nodePlatform } from '@org/agent-messaging-core/node'
import { unwrap } from '@org/agent-messaging-testing'
import { answer } from './answer.mjs'
import { openService } from './service.mjs'
import { signed } from './webhook.mjs'

const { database, messages } = JSON.parse(process.argv[2])
const CONCURRENCY = 250
const PER_SESSION = 10
const LEASE_MS = 60_000
const NONE = new Set()
const text = 'x'.repeat(200)
/** Headers of the same length as the server's. */
const requestHeaders = {
  ...signed(text),
  'webhook-id': 'x'.repeat(36),
  'webhook-timestamp': '1'.repeat(10),
  'webhook-signature': 'x'.repeat(47),
}
const { ids } = nodePlatform({ masterKey: Buffer.alloc(32, 1) })
const { service, storage, projectId, agent, webhookIds, stop } = await openService({
  database,
  webhooks: ['http://127.0.0.1:9/hook'],
})
const executionPrincipal = { type: 'service' }

async function fill() {
  const queue = Array.from({ length: Math.ceil(messages / PER_SESSION) }, (_, n) => n)
  const worker = async () => {
    for (let session = queue.pop(); session !== undefined; session = queue.pop())
      await fillSession(ids.next())
  }
  await Promise.all(Array.from({ length: CONCURRENCY }, worker))
  // The deliveries stay. Measurements create other webhooks.
  for (const webhookId of webhookIds) await service.webhooks.delete({ projectId, webhookId })
  await stop() // Also merges the log into the database file.
}

async function fillSession(sessionId) {
  for (let n = 0; n < PER_SESSION; n++) {
    const id = ids.next()
    const now = Date.now()
    const message = {
      id,
      projectId,
      agentId: agent.id,
      sessionId,
      message: text,
      executionPrincipal,
      idempotencyKey: randomUUID(),
      now,
    }
    const accepted = unwrap(
      await storage.messages.accept({ ...message, claimUntil: now + LEASE_MS }),
    )
    await settle(accepted.claimed, {
      now,
      data: {
        messageId: id,
        agentId: agent.id,
        sessionId,
        response: text,
        executionPrincipal,
        metadata: {},
      },
    })
  }
}

async function settle({ message, lease }, { now, data }) {
  const event = freezeEvent(
    { event: 'message.responded', data: { ...data, responseTimeMs: 1 } },
    ids.next(),
    projectId,
    now,
  )
  const claim = { until: now + LEASE_MS, except: NONE }
  const state = { kind: 'responded', response: text, respondedAt: now, responseTimeMs: 1 }
  const outgoing = { events: [event], nextDeliveryId: ids.next, claim }
  const recorded = unwrap(
    await storage.messages.recordRun({
      messageId: message.id,
      token: lease.token,
      state,
      now,
      outgoing,
    }),
  )
  const attempts = recorded.deliveries.map(({ delivery, lease: held }) => {
    const attempt = {
      startedAt: now,
      durationMs: 2,
      requestHeaders,
      outcome: { kind: 'accepted', statusCode: 204 },
    }
    const delivered = { kind: 'delivered', deliveredAt: now }
    return { deliveryId: delivery.id, token: held.token, attempt, state: delivered }
  })
  unwrap(await storage.deliveries.recordAttempts(attempts))
}
answer({}, { fill })
