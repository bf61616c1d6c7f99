import { describeStorageContract } from '@org/agent-messaging-testing/contract'
import { myStorage } from './my-storage.js'

describeStorageContract('my storage', async () => {
  const storage = myStorage()
  return { storage, close: () => storage.close() }
})
