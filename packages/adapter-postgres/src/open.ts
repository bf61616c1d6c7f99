import { systemClock } from '@org/agent-messaging-core/node'
import type { ApiKey } from '@org/agent-messaging-core'
import type { Clock } from '@org/agent-messaging-core/runtime'
import {
  API_KEY_COLUMNS,
  selectList,
  toApiKey,
  type ApiKeyRow,
  type Storage,
} from '@org/agent-messaging-core/storage'
import {
  agentStore,
  auditStore,
  countsStore,
  credentialStore,
  lastMove as lastMoveOf,
  lastSeenAt,
  moveTimes,
  eventTypeStore,
  portalStore,
  recoveryStore,
  webhookStore,
} from '@org/agent-messaging-sql-kit'
import type pg from 'pg'
import { findAgents, stateChange } from './agents/agents.js'
import { DatabaseClock } from './database/database-clock.js'
import { type Driver, loadDriver } from './database/driver.js'
import { explainOpenFailure, placeOf } from './database/errors.js'
import { createGateway, type Gateway, type Queries, queriesOn } from './database/gateway.js'
import { perform, runnerOf } from './database/operations.js'
import { connectionTo } from './database/postgres-url.js'
import { sql } from './database/sql.js'
import { deliveryStore } from './deliveries/delivery-store.js'
import { eventStore } from './events/event-store.js'
import { messageStore } from './messages/message-store.js'
import { migrate } from './schema/migrate.js'
import { schema } from './schema/schema.js'
import { requireFittingServer } from './schema/server-check.js'

export type PostgresOptions = ClockOptions & ConnectionSource

type ClockOptions = {
  /** This machine's clock. Default: the system's. */
  readonly clock?: Clock
  /** Called if this machine's clock differs by a second or more from the database's. */
  readonly onSkew?: (byMs: number) => void
}

type ConnectionSource =
  | {
      /**
       * For example `postgres://user:password@host:5432/name`, or
       * `postgres://user:password@a:5432,b:5432/name?target_session_attrs=read-write` for the one
       * of several hosts that accepts writes.
       */
      readonly connectionString: string
      /** 10 by default. */
      readonly maxConnections?: number
    }
  /** The host's pool. `close` does not end it. All tables are in the schema `agent_messaging`. */
  | { readonly pool: pg.Pool }

export type PostgresStorage = Storage & {
  /** The clock of the database. Give it to the service, so that all processes have one time. */
  readonly clock: Clock
}

/** A call that waits longer for a connection is `Unavailable`. */
const CONNECT_MS = 5_000
/** An idle connection is closed late, because a new one has no plans: its first calls are slow. */
const IDLE_MS = 300_000
/** Finds a dead connection within seconds. The system's default is two hours. */
const KEEP_ALIVE_MS = 10_000

/**
 * Opens the storage and brings its schema up to date. Any number of processes on any number of
 * machines can share a database. Rejects with a `PostgresOpenError` for the operator.
 */
export async function openPostgresStorage(options: PostgresOptions): Promise<PostgresStorage> {
  const driver = await loadDriver()
  const ownsPool = !('pool' in options)
  const pool = ownsPool ? createPool(driver, options) : options.pool
  const gateway = createGateway(pool, ownsPool)
  try {
    await prepare(pool)
    const queries = queriesOn(pool)
    const lastMove = await perform(queries, lastMoveOf) // first, because a move changes both
    const seenAt = await perform(queries, lastSeenAt)
    const { clock: base = systemClock, onSkew = () => undefined } = options
    const clock = await DatabaseClock.start(pool, { base, onSkew })
    return {
      ...storesOf(gateway),
      lastMove,
      ...(seenAt !== undefined && { lastWriteAt: seenAt }),
      clock,
      close: async () => {
        await clock.stop()
        await gateway.close()
      },
    }
  } catch (error) {
    await gateway.close()
    throw explainOpenFailure(placeOfPool(driver, pool), error)
  }
}

const createPool = (
  { Pool, Client }: Driver,
  {
    connectionString,
    maxConnections = 10,
  }: {
    connectionString: string
    maxConnections?: number
  },
): pg.Pool =>
  new Pool({
    Client,
    ...connectionTo(connectionString),
    max: maxConnections,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
    connectionTimeoutMillis: CONNECT_MS,
    idleTimeoutMillis: IDLE_MS,
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

function storesOf(gateway: Gateway): Omit<Storage, 'close'> {
  const runner = runnerOf(gateway)
  const findAgent = gateway.gathered(findAgents)
  return {
    moveTimes: runner.write(moveTimes),
    messages: messageStore(gateway),
    deliveries: deliveryStore(gateway),
    recoveries: recoveryStore(runner),
    audit: auditStore(runner),
    eventTypes: eventTypeStore(runner),
    portals: portalStore(runner),
    counts: countsStore(runner),
    events: eventStore(gateway),
    webhooks: webhookStore(runner),
    agents: {
      ...agentStore(runner),
      get: (projectId, idOrName) => findAgent({ projectId, idOrName }),
      changeState: stateChange(gateway),
    },
    credentials: { ...credentialStore(runner), findByDigest: gateway.gathered(findKeys) },
    ping: () => gateway.write(async (db) => void (await db.run(rewriteVersionSql, {}))),
  }
}

/** A durable write that changes nothing. */
const rewriteVersionSql = sql('update agent_messaging.schema_version set version = version')

function placeOfPool({ Client }: Driver, pool: pg.Pool): string {
  try {
    return placeOf(new Client(pool.options))
  } catch {
    return 'the PostgreSQL URL'
  }
}

const byDigestsSql = sql<
  { readonly digests: readonly string[] },
  ApiKeyRow & { readonly digest: string }
>(`
  select digest, ${selectList(API_KEY_COLUMNS)} from agent_messaging.api_keys
  where digest = any(@digests::text[])`)

/** Finds the keys of many requests at once. Most requests use the same key. */
async function findKeys(db: Queries, digests: readonly string[]): Promise<(ApiKey | undefined)[]> {
  const rows = await db.all(byDigestsSql, { digests: [...new Set(digests)] })
  const keys = new Map(rows.map(({ digest, ...row }) => [digest, toApiKey(row)]))
  return digests.map((digest) => keys.get(digest))
}
