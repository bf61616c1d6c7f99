import { accessSync, constants, statfsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describeStorageContract } from '@org/agent-messaging-core/contract'
import { openSqliteStorage } from './index.js'

const [MEMORY, ENOUGH_BYTES] = ['/dev/shm', 48 * 1024 * 1024]

/**
 * Returns a folder in memory if the machine has one, because fsync takes most of the time of a test
 * on a disk. The tests of durability, `crash.test.ts` and `fsync.test.ts`, stay on the disk.
 */
function fastFolder(): string {
  try {
    accessSync(MEMORY, constants.W_OK)
    const { bavail, bsize } = statfsSync(MEMORY)
    return bavail * bsize >= ENOUGH_BYTES ? MEMORY : tmpdir()
  } catch {
    return tmpdir()
  }
}
const parent = fastFolder()

describeStorageContract('SQLite in memory', async () => {
  const storage = openSqliteStorage({ path: ':memory:' })
  return { storage, close: () => storage.close() }
})

describeStorageContract('SQLite on a file', async () => {
  const directory = await mkdtemp(join(parent, 'agent-messaging-'))
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
  const directory = await mkdtemp(join(parent, 'agent-messaging-'))
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
