import { createService, type MessagingService } from '@org/agent-messaging-core'
import { nodePlatform } from '@org/agent-messaging-core/node'
import { fakePlatform, refusalOf } from '@org/agent-messaging-testing'
import pg from 'pg'
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { testPostgres, type TestPostgres } from '../../test/test-postgres.js'
import { openPostgresStorage } from '../index.js'

type Process = {
  readonly service: MessagingService
  readonly pool: pg.Pool
  stop(): Promise<void>
}

let postgres: TestPostgres
beforeAll(async () => {
  postgres = await testPostgres()
})
afterAll(() => postgres.close())

const { ids } = nodePlatform({ masterKey: new Uint8Array(32) })

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
  return { service, pool, stop }
}

const functionOf = (statement: unknown): string | undefined =>
  /agent_messaging\.(\w+)/.exec((statement as { readonly text: string }).text)?.[1]

it('a send with a webhook takes two round trips from its key to its answer', async () => {
  const { service, pool, stop } = await openProcess(await postgres.database())
  const projectId = (await service.projects.create({ name: 'test' })).id
  const permissions = ['project:message'] as const
  const { key } = await service.keys.create({ projectId, name: 'k', permissions })
  await service.agents.create({ projectId, name: 'bot', runtime: { kind: 'fake' } })
  const url = 'https://receiver.example/hook'
  await service.webhooks.create({ projectId, url, events: ['*'] })
  const send = async (sessionId: string) => {
    const recalled = service.host.recall({ key })
    const apiKey = recalled ?? (await service.host.authenticate({ key }))
    const input = {
      projectId,
      agent: 'bot',
      sessionId,
      message: 'hello',
      idempotencyKey: sessionId,
    }
    const sent = await service.messages.send({
      ...input,
      sentBy: { id: apiKey.id, isRecalled: true },
    })
    return sent.message.state.kind
  }

  const delivered = async () => {
    const page = await service.deliveries.list({ projectId, status: 'delivered', limit: 10 })
    return page.data.length
  }
  // The first delivery changes the health of the webhook, so the second send reads it again.
  for (const [at, sessionId] of ['first', 'second'].entries()) {
    expect(await send(sessionId)).toBe('responded')
    await expect.poll(delivered).toBe(at + 1)
  }
  const query = vi.spyOn(pool, 'query')
  const connect = vi.spyOn(pool, 'connect')
  const answered = send('third').then(() => query.mock.calls.map(([text]) => functionOf(text)))
  expect(await answered).toEqual(['accept_messages', 'settle_runs'])
  expect(connect.mock.calls.filter(([done]) => done === undefined)).toEqual([])
  await stop()
})

describe('two processes on one database', () => {
  let one: Process
  let other: Process
  let projectId: string
  beforeEach(async () => {
    const url = await postgres.database()
    one = await openProcess(url)
    other = await openProcess(url)
    projectId = (await one.service.projects.create({ name: 'test' })).id
    const bot = { projectId, name: 'bot', runtime: { kind: 'fake' } }
    await one.service.agents.create({ ...bot, desiredState: 'running' })
    return () => Promise.all([one.stop(), other.stop()])
  })

  const send = async (message: string) =>
    (await one.service.messages.send({ projectId, agent: 'bot', sessionId: message, message }))
      .message

  const createWebhook = async (service: MessagingService) =>
    (
      await service.webhooks.create({
        projectId,
        url: 'https://receiver.example/',
        events: ['message.responded'],
      })
    ).webhook

  const receiversOf = async (messageId: string) =>
    (await one.service.deliveries.list({ projectId, messageId, limit: 10 })).data
      .map(({ webhookId }) => webhookId)
      .toSorted()

  it('sends a repeated key to the agent that has the name now', async () => {
    const sendWithKey = () => {
      const input = { projectId, agent: 'bot', sessionId: 's', message: 'hi', idempotencyKey: 'k' }
      return one.service.messages.send(input)
    }
    expect((await sendWithKey()).attached).toBe(false)
    const renamed = { projectId, agent: 'bot', change: { name: 'former' } }
    await other.service.agents.update(renamed)
    expect((await refusalOf(sendWithKey())).kind).toBe('agent_not_found')
    const { agent } = await one.service.agents.create({
      projectId,
      name: 'bot',
      runtime: { kind: 'fake' },
      desiredState: 'running',
    })
    const { attached, message } = await sendWithKey()
    expect([attached, message.agentId]).toEqual([false, agent.id])
  })

  it('delivers to the webhooks as another process has changed them', async () => {
    expect(await receiversOf((await send('none')).id)).toEqual([])
    const a = await createWebhook(other.service)
    expect(await receiversOf((await send('a new one')).id)).toEqual([a.id])
    const b = await createWebhook(other.service)
    expect(await receiversOf((await send('both')).id)).toEqual([a.id, b.id].toSorted())
    const change = { filter: { sessionIdPrefix: 'elsewhere' } }
    await other.service.webhooks.update({ projectId, webhookId: a.id, change })
    expect(await receiversOf((await send('the unfiltered one')).id)).toEqual([b.id])
    await other.service.webhooks.delete({ projectId, webhookId: b.id })
    expect(await receiversOf((await send('none again')).id)).toEqual([])
  })
})
