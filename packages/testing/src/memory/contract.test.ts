import { describeStorageContract } from '../contract/index.js'
import { memoryStorage } from './memory-storage.js'

describeStorageContract('the memory storage', async () => {
  const storage = memoryStorage()
  return { storage, openSecond: async () => storage.reopen(), close: () => storage.close() }
})
