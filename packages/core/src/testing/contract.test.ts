import { describeStorageContract } from '../contract/index.js'
import { memoryStorage } from './memory-storage.js'

describeStorageContract('the memory storage', async () => {
  const storage = memoryStorage()
  return { storage, close: () => storage.close() }
})

describeStorageContract('the memory storage, through two handles', async () => {
  const storage = memoryStorage()
  return { storage, second: storage.reopen(), close: () => storage.close() }
})
