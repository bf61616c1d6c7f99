import type { StorageUnderTest } from '@org/agent-messaging-testing/contract'
import type { Storage } from '@org/agent-messaging-core/storage'
import pg from 'pg'
import { afterAll, beforeAll } from 'vitest'
import { openPostgresStorage } from '../src/index.js'
import { testPostgres, type TestPostgres } from './test-postgres.js'

/** Returns an `open` for the contract. All tests of the calling file use one database. */
export function onPostgres(): () => Promise<Required<StorageUnderTest>> {
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

  return async () => {
    const opened: Storage[] = []
    const open = async (pool: pg.Pool): Promise<Storage> => {
      const storage = await openPostgresStorage({ pool })
      opened.push(storage)
      return storage
    }
    return {
      storage: await open(pools[0]),
      openSecond: () => open(pools[1]),
      close: async () => {
        await Promise.all(opened.map((storage) => storage.close()))
        await deleteEverything(pools[0])
      },
    }
  }
}

const TABLES = [
  'settings',
  'recoveries',
  'audit_log',
  'portal_sessions',
  'event_types',
  'projects',
  'count_entries',
  'counts',
  'send_buckets',
  'api_keys',
  'agents',
  'messages',
  'sessions',
  'erasures',
  'attempts',
  'deliveries',
  'events',
  'publish_requests',
  'event_listeners',
  'header_names',
  'subscriptions',
  'webhooks',
]

/** Takes a tenth of the time of a new database for each test. */
async function deleteEverything(pool: pg.Pool): Promise<void> {
  await pool.query(TABLES.map((table) => `delete from agent_messaging.${table}`).join(';'))
}
