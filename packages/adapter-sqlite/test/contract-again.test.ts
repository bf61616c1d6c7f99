import { describeStorageContract } from '@org/agent-messaging-testing/contract'
import { openSqliteStorage } from '../src/index.js'
import { onFile } from './contract-storages.js'

describeStorageContract('SQLite in memory', async () => {
  const storage = openSqliteStorage({ path: ':memory:' })
  return { storage, close: () => storage.close() }
})

describeStorageContract('SQLite on a file that another connection has open', async () => {
  const opened = await onFile()
  const second = await opened.openSecond()
  return { ...opened, openSecond: async () => second }
})
