import { createService } from '@org/agent-messaging-core'
import { fakePlatform } from '@org/agent-messaging-core/testing'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { testPostgres, type TestPostgres } from '../test/test-postgres.js'
import { openPostgresStorage } from './index.js'

let postgres: TestPostgres
beforeAll(async () => {
  postgres = await testPostgres()
})
afterAll(() => postgres.close())

it('a send with a webhook takes two round trips from its key to its answer', async () => {
  const pool = await postgres.pool()
  const storage = await openPostgresStorage({ pool })
  const platform = fakePlatform({ handler: () => ({ kind: 'answered', response: 'yes' }) })
  const service = createService({ ...platform, storage })
  await service.start()
  const projectId = (await service.projects.create({ name: 'test' }))._unsafeUnwrap().id
  const permissions = ['project:message'] as const
  const { key } = (await service.keys.create({ projectId, name: 'k', permissions }))._unsafeUnwrap()
  await service.agents.create({ projectId, name: 'bot', runtime: { kind: 'fake' } })
  const url = 'https://receiver.example/hook'
  await service.webhooks.create({ projectId, url, events: ['*'] })
  const send = async (sessionId: string) => {
    const recalled = service.keys.recall(key)
    const apiKey = recalled ?? (await service.keys.authenticate(key))._unsafeUnwrap()
    const input = {
      projectId,
      agent: 'bot',
      sessionId,
      message: 'hello',
      idempotencyKey: sessionId,
    }
    const sent = await service.messages.send({ ...input, recalledKeyId: apiKey.id })
    return sent._unsafeUnwrap().message.state.kind
  }

  const delivered = async () => {
    const page = await service.deliveries.list({ projectId, status: 'delivered' }, { limit: 10 })
    return page._unsafeUnwrap().data.length
  }
  // The first delivery changes the health of the webhook, so the second send reads it again.
  for (const [at, sessionId] of ['first', 'second'].entries()) {
    expect(await send(sessionId)).toBe('responded')
    await vi.waitFor(async () => expect(await delivered()).toBe(at + 1))
  }
  const query = vi.spyOn(pool, 'query')
  const connect = vi.spyOn(pool, 'connect')
  const answered = send('third').then(() => query.mock.calls.map(([text]) => functionOf(text)))
  expect(await answered).toEqual(['accept_messages', 'settle_runs'])
  expect(connect.mock.calls.filter(([done]) => done === undefined)).toEqual([])

  await service.stop({ graceMs: 0 })
  await storage.close()
  await pool.end()
})

const functionOf = (statement: unknown): string | undefined =>
  /agent_messaging\.(\w+)/.exec((statement as { readonly text: string }).text)?.[1]
