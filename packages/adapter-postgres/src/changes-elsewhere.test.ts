import { createService, type MessagingService } from '@org/agent-messaging-core'
import { nodePlatform } from '@org/agent-messaging-core/node'
import { fakePlatform } from '@org/agent-messaging-core/testing'
import pg from 'pg'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { testPostgres, type TestPostgres } from '../test/test-postgres.js'
import { openPostgresStorage } from './index.js'

type Process = { readonly service: MessagingService; stop(): Promise<void> }

let postgres: TestPostgres
beforeAll(async () => {
  postgres = await testPostgres()
})
afterAll(() => postgres.close())

const { ids } = nodePlatform({ masterKey: new Uint8Array(32) })

/** Two processes on one database. */
let one: Process
let other: Process
let projectId: string
beforeEach(async () => {
  const url = await postgres.database()
  one = await openProcess(url)
  other = await openProcess(url)
  projectId = (await one.service.projects.create({ name: 'test' }))._unsafeUnwrap().id
  const bot = { projectId, name: 'bot', runtime: { kind: 'fake' } }
  await one.service.agents.create({ ...bot, desiredState: 'running' })
  return () => Promise.all([one.stop(), other.stop()])
})

async function openProcess(connectionString: string): Promise<Process> {
  const pool = new pg.Pool({ connectionString })
  pool.on('error', () => undefined)
  const storage = await openPostgresStorage({ pool })
  const platform = fakePlatform({
    handler: ({ message }) => ({ kind: 'answered', response: `re: ${message}` }),
  })
  const service = createService({ ...platform, ids, storage })
  await service.start()
  const stop = async () => {
    await service.stop({ graceMs: 0 })
    await storage.close()
    await pool.end()
  }
  return { service, stop }
}

const send = async (message: string) =>
  (
    await one.service.messages.send({ projectId, agent: 'bot', sessionId: message, message })
  )._unsafeUnwrap().message

const createWebhook = async (service: MessagingService) =>
  (
    await service.webhooks.create({
      projectId,
      url: 'https://receiver.example/',
      events: ['message.responded'],
    })
  )._unsafeUnwrap().webhook

const receiversOf = async (messageId: string) =>
  (await one.service.deliveries.list({ projectId, messageId }, { limit: 10 }))
    ._unsafeUnwrap()
    .data.map(({ webhookId }) => webhookId)
    .toSorted()

it('sends a repeated key to the agent that has the name now', async () => {
  const sendWithKey = () => {
    const input = { projectId, agent: 'bot', sessionId: 's', message: 'hi', idempotencyKey: 'k' }
    return one.service.messages.send(input)
  }
  expect((await sendWithKey())._unsafeUnwrap().attached).toBe(false)
  const renamed = { projectId, agent: 'bot', change: { name: 'former' } }
  expect((await other.service.agents.update(renamed)).isOk()).toBe(true)
  expect((await sendWithKey())._unsafeUnwrapErr().kind).toBe('agent_not_found')
  const { agent } = (
    await one.service.agents.create({
      projectId,
      name: 'bot',
      runtime: { kind: 'fake' },
      desiredState: 'running',
    })
  )._unsafeUnwrap()
  const { attached, message } = (await sendWithKey())._unsafeUnwrap()
  expect([attached, message.agentId]).toEqual([false, agent.id])
})

it('delivers to the webhooks as another process has changed them', async () => {
  expect(await receiversOf((await send('none')).id)).toEqual([])
  const a = await createWebhook(other.service)
  expect(await receiversOf((await send('a new one')).id)).toEqual([a.id])
  const b = await createWebhook(other.service)
  expect(await receiversOf((await send('both')).id)).toEqual([a.id, b.id].toSorted())
  const change = { filter: { sessionIdPrefix: 'elsewhere' } }
  const changed = await other.service.webhooks.update({ projectId, webhookId: a.id, change })
  expect(changed.isOk()).toBe(true)
  expect(await receiversOf((await send('the unfiltered one')).id)).toEqual([b.id])
  const deleted = await other.service.webhooks.delete({ projectId, webhookId: b.id })
  expect(deleted.isOk()).toBe(true)
  expect(await receiversOf((await send('none again')).id)).toEqual([])
})
