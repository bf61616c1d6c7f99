import {
  anAgent,
  anEvent,
  aProject,
  aWebhook,
  fakeIds,
  newMessage,
  unwrap,
  mapped,
} from '@org/agent-messaging-testing'
import Database from 'better-sqlite3'
import { expect, it } from 'vitest'
import { tempFile } from '../../test/temp-file.js'
import { openSqliteStorage } from '../index.js'

const TABLES = ['messages', 'sessions', 'deliveries', 'events', 'attempts']
const NOW = 1_000_000

it('a purge deletes all rows of a message and of a delivery', async () => {
  const path = tempFile()
  const { credentials, agents, webhooks, messages, deliveries, close } = openSqliteStorage({ path })
  const ids = fakeIds()
  const agent = anAgent()
  await credentials.createProject(aProject())
  await agents.create(agent, 1_000)
  for (let n = 0; n < 2; n++) await webhooks.create(aWebhook({ id: ids.next() }), 9)
  const accepted = unwrap(await messages.accept(newMessage(agent, { claimUntil: NOW, now: NOW })))
  if (accepted.kind !== 'claimed') throw new Error(accepted.kind)
  const { message, lease } = accepted.claimed
  const state = { kind: 'responded', response: '', respondedAt: NOW, responseTimeMs: 1 } as const
  const outgoing = { events: [anEvent(agent, { createdAt: 0 })], nextDeliveryId: ids.next }
  await messages.recordRun({ messageId: message.id, token: lease.token, state, now: NOW, outgoing })
  const query = {
    now: NOW,
    until: NOW,
    limit: 9,
    perWebhook: 9,
    perProject: 9,
    retries: 9,
    rooms: new Map(),
    except: new Set<string>(),
  }
  for (const { delivery, lease: held } of unwrap(
    await mapped(deliveries.claimDue(query), (claims) => [...claims.deliveries]),
  )) {
    const attempt = {
      startedAt: NOW,
      durationMs: 1,
      outcome: { kind: 'accepted', statusCode: 200, responseBody: '' },
    } as const
    await deliveries.recordAttempts([
      {
        deliveryId: delivery.id,
        token: held.token,
        attempt,
        state: { kind: 'delivered', deliveredAt: NOW },
      },
    ])
  }
  expect(rowsOf(path)).toEqual({ messages: 1, sessions: 1, deliveries: 2, events: 1, attempts: 2 })

  const purge = { finishedBefore: NOW + 1, limit: 1, now: NOW }
  await deliveries.purge(purge)
  expect(rowsOf(path)).toEqual({ messages: 1, sessions: 1, deliveries: 1, events: 1, attempts: 1 })
  await deliveries.purge(purge)
  await messages.purge(purge)
  expect(rowsOf(path)).toEqual({ messages: 0, sessions: 0, deliveries: 0, events: 0, attempts: 0 })
  await close()
})

it('a sweep deletes all rows of a deleted agent', async () => {
  const path = tempFile()
  const { credentials, agents, messages, close } = openSqliteStorage({ path })
  const agent = anAgent()
  await credentials.createProject(aProject())
  await agents.create(agent, 1_000)
  const message = newMessage(agent)
  await messages.accept(message)
  await messages.cancel({
    projectId: agent.projectId,
    agentId: agent.id,
    messageId: message.id,
    state: { kind: 'cancelled', cancelledAt: NOW },
    outgoing: { events: [], nextDeliveryId: () => '' },
  })
  await agents.delete(agent.projectId, agent.id)
  await messages.sweep({ limit: 100, now: NOW })
  expect(rowsOf(path)).toMatchObject({ messages: 0, sessions: 0 })
  await close()
})

function rowsOf(path: string): Record<string, unknown> {
  const db = new Database(path, { readonly: true })
  const rows = TABLES.map((table) => [
    table,
    db.prepare(`select count(*) from ${table}`).pluck().get(),
  ])
  db.close()
  return Object.fromEntries(rows)
}
