import { symlinkSync } from 'node:fs'
import type { Agent } from '@org/agent-messaging-core'
import {
  anAgent,
  anEvent,
  aWebhook,
  BUILT_AT,
  fakeIds,
  newMessage,
  unwrap,
  mapped,
} from '@org/agent-messaging-testing'
import { expect, it } from 'vitest'
import { openSqliteStorage, type SqliteStorage } from '../src/index.js'
import { kill, report, start } from './process.js'
import { tempFile } from './temp-file.js'

const HOLDER = new URL('./holder.mjs', import.meta.url)
const NOW = BUILT_AT
const HOUR = 60 * 60_000
const ids = fakeIds()

/**
 * Creates a file with three queued messages of one agent, in three sessions, and one due delivery.
 */
async function storageWithWork(path: string): Promise<{ agent: Agent; messages: string[] }> {
  const storage = openSqliteStorage({ path })
  const agent = anAgent()
  await storage.agents.create(agent, 1_000)
  await storage.webhooks.create(aWebhook(), 1)
  await storage.agents.changeState({
    agentId: agent.id,
    from: 'running',
    to: agent.state,
    outgoing: { events: [anEvent(agent)], nextDeliveryId: ids.next },
  })
  const messages = ['a', 'b', 'c'].map((sessionId) => newMessage(agent, { sessionId }))
  for (const message of messages) await storage.messages.accept(message)
  await storage.close()
  return { agent, messages: messages.map(({ id }) => id) }
}

async function claimAll(storage: SqliteStorage, agent: Agent, now = NOW) {
  const until = now + HOUR
  const messages = await storage.messages.claimRunnable({
    lanes: [{ agentId: agent.id, free: 100 }],
    now,
    until,
  })
  const deliveries = await mapped(
    storage.deliveries.claimDue({
      now,
      until,
      limit: 100,
      perWebhook: 100,
      perProject: 100,
      retries: 100,
      rooms: new Map(),
      except: new Set(),
    }),
    (claims) => [...claims.deliveries],
  )
  return { messages: unwrap(messages), deliveries: unwrap(deliveries) }
}

it('the claims of a killed process are due at once when the file is opened again', async () => {
  const path = tempFile()
  const { agent, messages } = await storageWithWork(path)
  const holder = start(HOLDER, path, agent.id, NOW, NOW + HOUR)
  expect(await report(holder)).toMatchObject({
    alone: true,
    messages,
    deliveries: [expect.any(String)],
  })
  await kill(holder)

  const storage = openSqliteStorage({ path })
  expect(storage.alone).toBe(true)
  expect(storage.takenOver).toEqual({ messages: messages.length, deliveries: 1, agents: 0 })
  const claimed = await claimAll(storage, agent)
  expect(claimed.messages).toMatchObject(
    messages.map((id) => ({ message: { id, attempt: 2 }, lost: 'running' })),
  )
  expect(claimed.deliveries).toMatchObject([{ lease: { token: 2 } }])
  await storage.close()
})

it('a probe of a killed process is repeated at once, and other open circuits do not change', async () => {
  const path = tempFile()
  const { agent } = await storageWithWork(path)
  const storage = openSqliteStorage({ path })
  const [probed] = unwrap(await storage.webhooks.list(agent.projectId, { limit: 1 })).data
  const health = {
    consecutiveFailures: 5,
    circuit: { kind: 'open', until: NOW, trips: 1 },
  } as const
  await storage.webhooks.update(agent.projectId, probed?.id ?? '', { health, updatedAt: NOW })
  const open = aWebhook({
    health: { ...health, circuit: { ...health.circuit, until: NOW + HOUR } },
  })
  await storage.webhooks.create(open, 2)
  expect((await claimAll(storage, agent)).deliveries).toMatchObject([
    { webhook: { health: { circuit: { until: NOW + HOUR } } } },
  ])
  await storage.close()

  const reopened = openSqliteStorage({ path })
  expect((await claimAll(reopened, agent)).deliveries).toMatchObject([
    { webhook: { id: probed?.id }, lease: { token: 2 } },
  ])
  expect(unwrap(await reopened.webhooks.get(agent.projectId, open.id))).toEqual(open)
  await reopened.close()
})

it('a live process keeps its claims while other processes open and close the file, also by a link', async () => {
  const path = tempFile()
  const { agent } = await storageWithWork(path)
  const holder = start(HOLDER, path, agent.id, NOW, NOW + HOUR)
  await report(holder)
  symlinkSync(path, `${path}.link`)

  for (const name of [path, `${path}.link`]) {
    const storage = openSqliteStorage({ path: name })
    expect(storage.alone).toBe(false)
    expect(await claimAll(storage, agent)).toEqual({ messages: [], deliveries: [] })
    await storage.close()
  }
})

it('the claims of a killed process stay until their leases end while another process has the file open', async () => {
  const path = tempFile()
  const { agent } = await storageWithWork(path)
  const bystander = openSqliteStorage({ path })
  const holder = start(HOLDER, path, agent.id, NOW, NOW + HOUR)
  expect(await report(holder)).toMatchObject({ alone: false })
  await kill(holder)

  const next = openSqliteStorage({ path })
  expect(next.alone).toBe(false)
  expect((await claimAll(next, agent)).messages).toEqual([])
  expect((await claimAll(next, agent, NOW + HOUR)).messages).toHaveLength(3)
  await Promise.all([bystander.close(), next.close()])
})

it('opening the file does not change deferred runs and backoffs', async () => {
  const path = tempFile()
  const { agent } = await storageWithWork(path)
  const storage = openSqliteStorage({ path })
  const [deferred, retried, running] = (await claimAll(storage, agent)).messages.map(
    ({ message, lease }) => ({
      messageId: message.id,
      token: lease.token,
    }),
  )
  if (!deferred || !retried || !running) throw new Error('three messages must be claimed')
  await storage.messages.defer({
    ...deferred,
    state: { kind: 'deferred', startedAt: NOW, deadlineAt: NOW + HOUR },
  })
  await storage.messages.recordRun({
    ...retried,
    state: { kind: 'queued', notBefore: NOW + HOUR },
    now: NOW,
  })
  await storage.close()

  const reopened = openSqliteStorage({ path })
  expect((await claimAll(reopened, agent)).messages).toMatchObject([
    { message: { id: running.messageId } },
  ])
  const answered = {
    kind: 'responded',
    response: 'late',
    respondedAt: NOW,
    responseTimeMs: 1,
  } as const
  expect(
    unwrap(await reopened.messages.recordRun({ ...deferred, state: answered, now: NOW })),
  ).toMatchObject({
    kind: 'recorded',
  })
  await reopened.close()
})

it('processes that start at once on a new file all open it, and at least one is alone', async () => {
  const path = tempFile()
  const starting = Array.from({ length: 5 }, () => start(HOLDER, path, 'nobody', NOW, NOW + HOUR))
  const reports = await Promise.all(starting.map(report))
  expect(reports.some(({ alone }) => alone)).toBe(true)
})
