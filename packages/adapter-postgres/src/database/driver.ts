import { isMissing, needsPackage } from '@org/agent-messaging-core/runtime'
import type pg from 'pg'
import { PostgresOpenError } from './open-error.js'
import { clientClass, type PostgresClient, type PostgresClientClass } from './postgres-client.js'
import { connectionTo } from './postgres-url.js'

export type Driver = {
  readonly Pool: typeof pg.Pool
  readonly DatabaseError: typeof pg.DatabaseError
  readonly Client: PostgresClientClass
  readonly types: pg.CustomTypesConfig
}

let loading: Promise<Driver> | undefined

/**
 * Loads `pg` at the first call. A program without PostgreSQL does not need `pg`, and neither does
 * its bundle. Rejects with a `PostgresOpenError` if `pg` is not installed.
 */
export const loadDriver = (): Promise<Driver> => (loading ??= load())

async function load(): Promise<Driver> {
  const driver = await importDriver()
  const { Pool, DatabaseError, types } = driver
  return { Pool, DatabaseError, Client: clientClass(driver), types: withNumbers(types) }
}

async function importDriver() {
  // Bundlers accept a missing package only in an `import` inside `try`.
  try {
    const { default: driver } = await import('pg')
    // A bundle of Next.js has an empty module in the place of a missing package.
    if (driver?.Client !== undefined) return driver
  } catch (error) {
    if (!isMissing(error, 'pg')) throw error
  }
  loading = undefined
  throw new PostgresOpenError(`a PostgreSQL database ${needsPackage('pg')}`)
}

/** Instants and counts are far below 2 ** 53, so `bigint` is parsed as a number. */
const withNumbers = (types: typeof pg.types): pg.CustomTypesConfig => ({
  getTypeParser: (id, format) =>
    (id === types.builtins.INT8 ? Number : types.getTypeParser(id, format)) as never,
})

const CONNECT_MS = 5_000

/** A client for one piece of work. It is not connected. Rejects with a `PostgresOpenError`. */
export async function newClient(url: string): Promise<PostgresClient> {
  const { Client } = await loadDriver()
  const client = new Client({ ...connectionTo(url), connectionTimeoutMillis: CONNECT_MS })
  return client.on('error', () => undefined) // the running query reports it
}
