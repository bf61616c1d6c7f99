import type {
  ChunkRelay,
  LeaseKeeper,
  ResponseSignal,
  Storage,
  WorkSignal,
} from '@org/agent-messaging-core/storage'
import { given, type Clock } from '@org/agent-messaging-core/runtime'
import {
  openSqliteStorage,
  readSqliteSchema,
  sqliteChunkRelay,
  sqliteLeaseKeeper,
} from '@org/agent-messaging-adapter-sqlite'
import type pg from 'pg'
import { isPostgresUrl } from './postgres-url.js'
import { SetupError } from './setup-error.js'

/** A `Pool` of the package `pg`, whose types a host without PostgreSQL does not have. */
export type HostPool = { connect(): Promise<unknown>; readonly totalCount: number }

export type OpenOptions = {
  /** URL of the same PostgreSQL database that bypasses a transaction pooler. */
  readonly directUrl?: string | undefined
  readonly maxConnections?: number | undefined
  /** The policy's `runLeaseMs`. */
  readonly leaseMs: number
  /** Called once when a helper of the storage stops working, and again after it has recovered. */
  readonly onError: (worker: 'leaseKeeper' | 'signal' | 'relay', reason: string) => void
  /** Called once when an open database turns out to be damaged. */
  readonly onDamage?: (reason: string) => void
  /** Called if this machine's clock differs by a second or more from the database's. */
  readonly onSkew?: (byMs: number) => void
  /** This machine's clock. Default: the system's. */
  readonly clock?: Clock
}

/** The storage, with the helpers that the kind of database provides. */
export type OpenedDatabase = {
  readonly storage: Storage
  /** The clock that all processes on this database share. */
  readonly clock?: Clock
  readonly leaseKeeper?: LeaseKeeper
  readonly signal?: ResponseSignal
  readonly workSignal?: WorkSignal
  readonly relay?: ChunkRelay
  close(): Promise<void>
}

/** Opens the database and migrates its schema. Rejects with an `SetupError`. */
export const openDatabase = (
  database: string | HostPool,
  options: OpenOptions,
): Promise<OpenedDatabase> =>
  asSetupError(() =>
    typeof database !== 'string' || isPostgresUrl(database)
      ? openPostgres(database, options)
      : openSqlite(database, options),
  )

/** Version 0 means that the database has no schema yet. */
export type SchemaVersion = {
  readonly version: number
  /** The version that this release writes. */
  readonly newest: number
  /** The oldest version whose release works with the database. */
  readonly worksFrom: number
}

/** Reads the schema version without changing the database. Rejects with an `SetupError`. */
export const schemaVersion = (database: string): Promise<SchemaVersion> =>
  asSetupError(() =>
    isPostgresUrl(database)
      ? postgres().then(({ readPostgresSchema }) =>
          readPostgresSchema({ connectionString: database }),
        )
      : readSqliteSchema(database),
  )

async function asSetupError<T>(work: () => T | Promise<T>) {
  try {
    return await work()
  } catch (error) {
    if (error instanceof SetupError) throw error
    throw new SetupError(error instanceof Error ? error.message : String(error))
  }
}

/** Loads the adapter only when it is needed. */
const postgres = () => import('@org/agent-messaging-adapter-postgres')

async function openPostgres(
  database: string | HostPool,
  { directUrl, maxConnections, leaseMs, onError, onSkew, clock }: OpenOptions,
): Promise<OpenedDatabase> {
  const place =
    typeof database === 'string'
      ? { connectionString: database, ...given({ maxConnections }) }
      : { pool: database as pg.Pool }
  const direct = directUrl === undefined ? place : { connectionString: directUrl }
  const { openPostgresStorage, postgresLeaseKeeper, postgresSignal } = await postgres()
  const storage = await openPostgresStorage({ ...place, ...given({ onSkew, clock }) })
  const leaseKeeper = postgresLeaseKeeper({
    ...direct,
    leaseMs,
    onError: (reason) => onError('leaseKeeper', reason),
  })
  const signal = postgresSignal({
    ...direct,
    onError: (reason) => onError('signal', reason),
  })
  return {
    storage,
    clock: storage.clock,
    leaseKeeper,
    signal,
    workSignal: signal,
    relay: signal,
    close: async () => {
      await leaseKeeper.close()
      await signal.close()
      await storage.close()
    },
  }
}

async function openSqlite(
  path: string,
  { leaseMs, onError, onDamage }: OpenOptions,
): Promise<OpenedDatabase> {
  const storage = openSqliteStorage({ path, ...(onDamage && { onDamage }) })
  const leaseKeeper = sqliteLeaseKeeper({
    path,
    leaseMs,
    onError: (reason) => onError('leaseKeeper', reason),
  })
  // No other process can open a database in memory.
  const relay =
    path === ':memory:'
      ? undefined
      : sqliteChunkRelay({ path, onError: (reason) => onError('relay', reason) })
  return {
    storage,
    leaseKeeper,
    ...(relay && { relay }),
    close: async () => {
      await leaseKeeper.close()
      await relay?.close()
      await storage.close()
    },
  }
}
