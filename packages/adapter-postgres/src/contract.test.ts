import { describeStorageContract } from '@org/agent-messaging-core/contract'
import pg from 'pg'
import { afterAll, beforeAll } from 'vitest'
import { testPostgres, type TestPostgres } from '../test/test-postgres.js'
import { openPostgresStorage } from './index.js'

let postgres: TestPostgres
let connectionString: string
beforeAll(async () => {
  postgres = await testPostgres()
  connectionString = await postgres.database()
})
afterAll(() => postgres.close())

describeStorageContract('PostgreSQL', async () => {
  const storage = await openPostgresStorage({ connectionString })
  return {
    storage,
    close: async () => {
      await storage.close()
      await deleteEverything()
    },
  }
})

describeStorageContract('PostgreSQL that two processes share', async () => {
  const [storage, second] = await Promise.all([
    openPostgresStorage({ connectionString }),
    openPostgresStorage({ connectionString }),
  ])
  return {
    storage,
    second,
    close: async () => {
      await Promise.all([storage.close(), second.close()])
      await deleteEverything()
    },
  }
})

const TABLES = [
  'settings',
  'recoveries',
  'projects',
  'api_keys',
  'agents',
  'messages',
  'sessions',
  'erasures',
  'attempts',
  'deliveries',
  'events',
  'header_names',
  'subscriptions',
  'webhooks',
]

/** Takes a tenth of the time of a new database for each test. */
async function deleteEverything(): Promise<void> {
  const client = new pg.Client({ connectionString })
  await client.connect()
  await client.query(TABLES.map((table) => `delete from agent_messaging.${table}`).join(';'))
  await client.end()
}
