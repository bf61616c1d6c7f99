import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import Database from 'better-sqlite3'
import { aProject, aWebhook } from '@org/agent-messaging-testing'
import { expect, it, onTestFinished } from 'vitest'
import { openSqliteStorage } from '../index.js'

it('deleting a webhook erases its URL and its description', async () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'webhook-store-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const file = path.join(folder, 'service.db')
  const storage = openSqliteStorage({ path: file })
  const project = aProject()
  const webhook = aWebhook({
    projectId: project.id,
    url: 'https://chat.example/hooks/canary',
    description: 'canary',
  })
  await storage.credentials.createProject(project)
  await storage.webhooks.create(webhook, 1)
  await storage.webhooks.delete(project.id, webhook.id)
  await storage.close()
  const db = new Database(file, { readonly: true })
  const kept = db.prepare('select * from webhooks').all()
  db.close()
  expect(kept).toEqual([
    expect.objectContaining({ id: webhook.id, is_deleted: 1, url: '', secret: '' }),
  ])
  expect(JSON.stringify(kept)).not.toContain('canary')
})
