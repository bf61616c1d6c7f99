import { accessSync, constants, statfsSync } from 'node:fs'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { StorageUnderTest } from '@org/agent-messaging-testing/contract'
import { openSqliteStorage, type SqliteStorage } from '../src/index.js'

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

let empty: Promise<Buffer> | undefined

/** Returns the bytes of a new file. To make the tables takes longer than most tests. */
async function emptyFile(): Promise<Buffer> {
  const directory = await mkdtemp(join(parent, 'agent-messaging-'))
  const path = join(directory, 'data.db')
  await openSqliteStorage({ path }).close()
  const bytes = await readFile(path)
  await rm(directory, { recursive: true })
  return bytes
}

/** A storage on a new file. */
export async function onFile(): Promise<Required<StorageUnderTest>> {
  const directory = await mkdtemp(join(parent, 'agent-messaging-'))
  await writeFile(join(directory, 'data.db'), await (empty ??= emptyFile()))
  const opened: SqliteStorage[] = []
  const open = (): SqliteStorage => {
    const storage = openSqliteStorage({ path: join(directory, 'data.db') })
    opened.push(storage)
    return storage
  }
  return {
    storage: open(),
    openSecond: async () => open(),
    close: async () => {
      await Promise.all(opened.map((storage) => storage.close()))
      await rm(directory, { recursive: true })
    },
  }
}
