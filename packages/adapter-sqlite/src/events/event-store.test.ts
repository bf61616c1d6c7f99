import { copyFileSync } from 'node:fs'
import { createService } from '@org/agent-messaging-core'
import { fakePlatform, refusalOf } from '@org/agent-messaging-testing'
import { expect, it } from 'vitest'
import { tempFile } from '../../test/temp-file.js'
import { openSqliteStorage } from '../open.js'

it('a cursor from after a backup expires when the backup is restored', async () => {
  const [path, backup] = [tempFile(), tempFile()]
  const platform = fakePlatform()
  const open = (file: string) => {
    const storage = openSqliteStorage({ path: file })
    return { storage, service: createService({ ...platform, storage }) }
  }
  const first = open(path)
  const { id: projectId } = await first.service.projects.create({ name: 'test' })
  const webhook = { projectId, url: 'https://receiver.example', events: ['*'] } as const
  const { id: webhookId } = (await first.service.webhooks.create(webhook)).webhook
  const publish = async ({ service }: typeof first) =>
    await service.webhooks.sendTestEvent({ projectId, webhookId })
  const read = async ({ service }: typeof first, after?: string) =>
    service.events.read({ projectId, after })

  await publish(first)
  const { nextCursor: before } = await read(first)
  await first.storage.close()
  copyFileSync(path, backup)

  const lost = open(path)
  await publish(lost)
  const { nextCursor: after } = await read(lost, before)
  await lost.storage.close()

  const restored = open(backup)
  for (let n = 0; n < 2; n++) await publish(restored)
  expect((await refusalOf(read(restored, after))).kind).toBe('event_cursor_expired')
  expect((await read(restored, before)).data).toHaveLength(2)
  await restored.storage.close()
})
