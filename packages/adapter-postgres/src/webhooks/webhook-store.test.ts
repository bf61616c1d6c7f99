import { aProject, aWebhook } from '@org/agent-messaging-testing'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { testPostgres, type TestPostgres } from '../../test/test-postgres.js'
import { openPostgresStorage } from '../index.js'

let postgres: TestPostgres
beforeAll(async () => {
  postgres = await testPostgres()
})
afterAll(() => postgres.close())

it('a deleted webhook keeps no secret and no URL', async () => {
  const pool = await postgres.pool()
  const storage = await openPostgresStorage({ pool })
  const project = aProject()
  const { secret } = aWebhook()
  const webhook = aWebhook({
    projectId: project.id,
    url: 'https://chat.example/hooks/canary',
    description: 'canary',
    headers: { names: ['canary'], sealed: secret },
    previousSecret: { secret, until: 1 },
  })
  await storage.credentials.createProject(project)
  await storage.webhooks.create(webhook, 1)
  await storage.webhooks.delete(project.id, webhook.id)
  const { rows } = await pool.query('select * from agent_messaging.webhooks')
  await storage.close()
  await pool.end()
  expect(rows).toEqual([
    expect.objectContaining({
      id: webhook.id,
      is_deleted: true,
      url: '',
      secret: '',
      previous_secret: null,
      headers: null,
    }),
  ])
  expect(JSON.stringify(rows)).not.toContain('canary')
})
