import type { Storage } from '@org/agent-messaging-core/storage'
import pg from 'pg'
import { agentStore } from './agent-store.js'
import { credentialStore } from './credential-store.js'
import { createDatabase, type Database } from './database.js'
import { deliveryStore } from './delivery-store.js'
import { messageStore } from './message-store.js'
import { migrate } from './migrate.js'
import { explainOpenFailure } from './errors.js'
import { schema } from './schema/schema.js'
import { requireFittingServer } from './server-check.js'
import { sql } from './sql.js'
import { webhookStore } from './webhook-store.js'

export type PostgresOptions =
  | {
      /** Such as `postgres://user:password@host:5432/name`. */
      readonly connectionString: string
      /** 10 if absent. */
      readonly maxConnections?: number
    }
  /** The host's own, which `close` leaves open. All of ours is in the schema `agent_messaging`. */
  | { readonly pool: pg.Pool }

/** So long a call waits for a connection, before it is `Unavailable`. */
const PATIENCE_MS = 5_000
/** A connection that nobody used for so long is closed. With it go its plans: the first call of each kind on another takes some 10 ms longer. */
const IDLE_MS = 300_000
/** One whose machine fell away is closed soon after; by the system's own default two hours later. */
const KEEP_ALIVE_MS = 10_000

/**
 * Opens the storage, and brings its schema up to date. Any number of processes of any number of machines may have one database open.
 * Rejects with a `PostgresOpenError`, whose message is for the operator, when it cannot.
 */
export async function openPostgresStorage(options: PostgresOptions): Promise<Storage> {
  const isOurs = !('pool' in options)
  const pool = isOurs ? createPool(options) : options.pool
  const database = createDatabase(pool, isOurs)
  try {
    await prepare(pool)
    return { ...storesOf(database), close: database.close }
  } catch (error) {
    await database.close()
    throw explainOpenFailure(placeOf(pool), error)
  }
}

const createPool = ({
  connectionString,
  maxConnections = 10,
}: {
  connectionString: string
  maxConnections?: number
}): pg.Pool =>
  new pg.Pool({
    ...{
      connectionString,
      max: maxConnections,
      keepAlive: true,
      keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
    },
    ...{ connectionTimeoutMillis: PATIENCE_MS, idleTimeoutMillis: IDLE_MS },
  })

async function prepare(pool: pg.Pool): Promise<void> {
  const client = await pool.connect()
  try {
    await requireFittingServer(client)
    await migrate(client, schema)
  } finally {
    client.release()
  }
}

const storesOf = (database: Database): Omit<Storage, 'close'> => ({
  messages: messageStore(database),
  deliveries: deliveryStore(database),
  webhooks: webhookStore(database),
  agents: agentStore(database),
  credentials: credentialStore(database),
  ping: () => database.write(async (db) => void (await db.run(rewriteVersionSql, {}))),
})

/** A write like any other, to the disk and all, that changes nothing. */
const rewriteVersionSql = sql('update agent_messaging.schema_version set version = version')

/** Where the database is, without the password. */
function placeOf(pool: pg.Pool): string {
  try {
    const { host, port, database } = new pg.Client(pool.options)
    return `postgres://${host}:${port}/${database ?? ''}`
  } catch {
    return 'the PostgreSQL URL'
  }
}
