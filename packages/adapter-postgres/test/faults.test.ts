import { setTimeout as sleep } from 'node:timers/promises'
import type { Storage, Stored } from '@org/agent-messaging-core/storage'
import {
  anAgent,
  anEvent,
  aProject,
  aWebhook,
  fakeIds,
  newMessage,
} from '@org/agent-messaging-testing'
import { openPostgresStorage } from '@org/agent-messaging-adapter-postgres'
import pg from 'pg'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { startPostgres, type PostgresServer } from './postgres-server.mjs'

// The database stops under load and returns. A caller that gets `unavailable` repeats its call, as
// core does.

const [SENDERS, MESSAGES, LEASE_MS] = [16, 12, 60_000]
const ids = fakeIds()

let postgres: PostgresServer
let storage: Storage
let client: pg.Pool
beforeEach(async () => {
  postgres = await startPostgres(['fsync=off'])
  storage = await openPostgresStorage({ connectionString: postgres.url, maxConnections: 8 })
  client = new pg.Pool({ connectionString: postgres.url })
  client.on('error', () => undefined)
})
afterEach(async () => {
  await storage.close()
  await client.end()
  await postgres.stop()
})

async function untilStored<T>(store: () => Stored<T>): Promise<T> {
  for (;;) {
    const result = await store()
    if (result.ok) return result.value
    await sleep(20)
  }
}

/** Accepts messages, answers them with an event, delivers the event. Returns the message ids. */
async function workload(progress: { answered: number }) {
  const [agent, now] = [anAgent({ concurrency: 1_000 }), Date.now()]
  await untilStored(() => storage.credentials.createProject(aProject()))
  await untilStored(() => storage.agents.create(agent, 1_000))
  await untilStored(() => storage.webhooks.create(aWebhook({ id: ids.next() }), 10))
  async function send(sessionId: string): Promise<string> {
    const message = newMessage(agent, {
      sessionId,
      idempotencyKey: `${sessionId} ${ids.next()}`,
      claimUntil: now + LEASE_MS,
    })
    const accepted = await untilStored(() => storage.messages.accept(message))
    // The message was committed before the connection broke, so read the token of its lease.
    const token =
      accepted.kind === 'claimed'
        ? accepted.claimed.lease.token
        : (await untilStored(() => storage.messages.getHeld(message.id)))?.token
    const state = {
      kind: 'responded',
      response: message.message,
      respondedAt: now,
      responseTimeMs: 0,
    } as const
    const outgoing = () => ({
      events: [anEvent(agent, { id: ids.next(), name: 'message.responded' })],
      nextDeliveryId: ids.next,
      claim: { until: now + LEASE_MS, except: new Set<string>() },
    })
    const recorded = await untilStored(() =>
      storage.messages.recordRun({
        messageId: message.id,
        token: token ?? 0,
        state,
        now,
        outgoing: outgoing(),
      }),
    )
    progress.answered++
    for (const { delivery, lease } of recorded.kind === 'recorded' ? recorded.deliveries : []) {
      const attempt = {
        startedAt: now,
        durationMs: 1,
        outcome: { kind: 'accepted', statusCode: 204, responseBody: '' },
      } as const
      const record = {
        deliveryId: delivery.id,
        token: lease.token,
        attempt,
        state: { kind: 'delivered', deliveredAt: now },
      } as const
      await untilStored(() => storage.deliveries.recordAttempts([record]))
    }
    return message.id
  }
  const senders = Array.from({ length: SENDERS }, async (_, sender) => {
    const sent: string[] = []
    for (let n = 0; n < MESSAGES; n++) sent.push(await send(`${sender}`))
    return sent
  })
  return (await Promise.all(senders)).flat()
}

async function count(query: string): Promise<number> {
  return Number(
    (await client.query<{ count: string }>(`select count(*) from agent_messaging.${query}`)).rows[0]
      ?.count,
  )
}

it.each<[string, () => Promise<void>]>([
  ['crashes and restarts', () => postgres.kill().then(postgres.start)],
  [
    'closes all connections',
    async () => {
      const others =
        "application_name <> 'nobody' and pid <> pg_backend_pid() and datname = current_database()"
      await client.query(`select pg_terminate_backend(pid) from pg_stat_activity where ${others}`)
    },
  ],
])(
  'nothing is lost or duplicated when the database %s under load',
  async (_, fault) => {
    const progress = { answered: 0 }
    const working = workload(progress)
    for (const share of [0.2, 0.5]) {
      await vi.waitFor(
        () => expect(progress.answered).toBeGreaterThan(SENDERS * MESSAGES * share),
        { timeout: 60_000, interval: 5 },
      )
      await fault()
    }
    const sent = await working
    expect(await count("messages where state = 'responded'")).toBe(sent.length)
    expect(await count('messages')).toBe(sent.length)
    // Each answer has one event and one delivery, even if its caller got no result.
    expect([await count('events'), await count('deliveries')]).toEqual([sent.length, sent.length])
    expect(await count('attempts')).toBe(await count("deliveries where state = 'delivered'"))
    expect(
      await count('sessions where due_at is not null or last_position <> head_position - 1'),
    ).toBe(0)
  },
  240_000,
)
