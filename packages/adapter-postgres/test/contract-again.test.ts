import { describeStorageContract } from '@org/agent-messaging-testing/contract'
import { onPostgres } from './contract-storages.js'

const open = onPostgres()

describeStorageContract('PostgreSQL that one process uses', async () => {
  const { storage, close } = await open()
  return { storage, close }
})
