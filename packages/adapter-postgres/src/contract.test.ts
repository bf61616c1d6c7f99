import { describeStorageContract } from '@org/agent-messaging-core/contract'
import pg from 'pg'
import { afterAll, beforeAll } from 'vitest'
import { testPostgres, type TestPostgres } from '../test/test-postgres.js'
import { openPostgresStorage } from './index.js'

let postgres: TestPostgres
/** Connections that all tests use, because the first calls on a connection compile functions. */
let pools: readonly [pg.Pool, pg.Pool]
beforeAll(async () => {
  postgres = await testPostgres()
  const connectionString = await postgres.database()
  const openPool = () => new pg.Pool({ connectionString, idleTimeoutMillis: 0 })
  pools = [openPool(), openPool()]
})
afterAll(async () => {
  for (const pool of pools) await pool.end()
  await postgres.close()
})

describeStorageContract('PostgreSQL', async () => {
  const storage = await openPostgresStorage({ pool: pools[0] })
  return {
    storage,
    close: async () => {
      await storage.close()
      await deleteEverything()
    },
  }
})

describeStorageContract('PostgreSQL that two processes share', async () => {
  const [first, other] = pools
  const [storage, second] = await Promise.all([
    openPostgresStorage({ pool: first }),
    openPostgresStorage({ pool: other }),
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
  'audit_log',
  'portal_sessions',
  'projects',
  'usage',
  'send_buckets',
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
  const [pool] = pools
  await pool.query(TABLES.map((table) => `delete from agent_messaging.${table}`).join(';'))
}
