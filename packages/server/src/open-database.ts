import type {
  LeaseKeeper,
  ResponseSignal,
  Storage,
  WorkSignal,
} from '@org/agent-messaging-core/storage'
import {
  openPostgresStorage,
  postgresLeaseKeeper,
  postgresSignal,
} from '@org/agent-messaging-postgres'
import { openSqliteStorage, sqliteLeaseKeeper } from '@org/agent-messaging-sqlite'
import { isPostgresUrl } from './database-url.js'
import { OperatorError } from './operator-error.js'

export type OpenOptions = {
  /** Of PostgreSQL behind a pooler of transactions: the way past it. */
  readonly directUrl?: string | undefined
  /** The policy's `runLeaseMs`. */
  readonly leaseMs: number
  /** Hears why a helper of the storage does not do its work, once until it does again. */
  readonly onError: (worker: 'leaseKeeper' | 'signal', reason: string) => void
  /** Hears, once, that the storage was found damaged while it was in use. */
  readonly onDamage?: (sentence: string) => void
}

/** The storage, and what a database does for the service beside it. */
export type Database = {
  readonly storage: Storage
  readonly leaseKeeper?: LeaseKeeper
  readonly signal?: ResponseSignal
  readonly workSignal?: WorkSignal
  close(): Promise<void>
}

/** Rejects with an `OperatorError` that says in a line why it cannot be opened. */
export async function openDatabase(database: string, options: OpenOptions): Promise<Database> {
  try {
    return await (isPostgresUrl(database)
      ? openPostgres(database, options)
      : openSqlite(database, options))
  } catch (error) {
    throw new OperatorError(error instanceof Error ? error.message : String(error))
  }
}

async function openPostgres(
  url: string,
  { directUrl: connectionString = url, leaseMs, onError }: OpenOptions,
): Promise<Database> {
  const storage = await openPostgresStorage({ connectionString: url })
  const leaseKeeper = postgresLeaseKeeper({
    connectionString,
    leaseMs,
    onError: (reason) => onError('leaseKeeper', reason),
  })
  const signal = postgresSignal({
    connectionString,
    onError: (reason) => onError('signal', reason),
  })
  return {
    storage,
    leaseKeeper,
    signal,
    workSignal: signal,
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
): Promise<Database> {
  const storage = openSqliteStorage({ path, ...(onDamage && { onDamage }) })
  const leaseKeeper = sqliteLeaseKeeper({
    path,
    leaseMs,
    onError: (reason) => onError('leaseKeeper', reason),
  })
  return {
    storage,
    leaseKeeper,
    close: async () => {
      await leaseKeeper.close()
      await storage.close()
    },
  }
}
