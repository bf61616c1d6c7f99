import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describeStorageContract } from '@org/agent-messaging-core/contract'
import { openSqliteStorage } from './index.js'

describeStorageContract('SQLite in memory', async () => {
  const storage = openSqliteStorage({ path: ':memory:' })
  return { storage, close: () => storage.close() }
})

describeStorageContract('SQLite on a file', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'agent-messaging-'))
  const storage = openSqliteStorage({ path: join(directory, 'data.db') })
  return {
    storage,
    close: async () => {
      await storage.close()
      await rm(directory, { recursive: true })
    },
  }
})

describeStorageContract('SQLite on a file that two connections share', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'agent-messaging-'))
  const path = join(directory, 'data.db')
  const storage = openSqliteStorage({ path })
  const second = openSqliteStorage({ path })
  return {
    storage,
    second,
    close: async () => {
      await Promise.all([storage.close(), second.close()])
      await rm(directory, { recursive: true })
    },
  }
})
