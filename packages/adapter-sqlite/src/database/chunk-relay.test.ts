import { existsSync } from 'node:fs'
import { describeChunkRelayContract } from '@org/agent-messaging-testing/contract'
import { expect, it, onTestFinished } from 'vitest'
import { tempFile } from '../../test/temp-file.js'
import { openSqliteStorage, sqliteChunkRelay } from '../index.js'

const QUESTION = {
  kind: 'question',
  messageId: '0197b3a0-0000-7000-8000-000000000001',
  have: { startedAt: 0, attempt: 0, offset: 0 },
  isBehind: true,
} as const

describeChunkRelayContract('SQLite', async () => {
  const path = tempFile()
  const storage = openSqliteStorage({ path })
  const [from, to] = [sqliteChunkRelay({ path }), sqliteChunkRelay({ path })]
  return {
    from,
    to,
    close: async () => {
      await Promise.all([from.close(), to.close()])
      await storage.close()
    },
  }
})

it('the first note creates the file, and the first process after all others deletes it', async () => {
  const path = tempFile()
  const storage = openSqliteStorage({ path })
  const relay = sqliteChunkRelay({ path })
  expect(existsSync(`${path}-streams`)).toBe(false)
  await relay.send(QUESTION)
  expect(existsSync(`${path}-streams`)).toBe(true)
  await relay.close()
  const second = openSqliteStorage({ path })
  expect(existsSync(`${path}-streams`)).toBe(true)
  await Promise.all([storage.close(), second.close()])
  const third = openSqliteStorage({ path })
  onTestFinished(() => third.close())
  expect(existsSync(`${path}-streams`)).toBe(false)
})
