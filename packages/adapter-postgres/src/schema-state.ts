import pg from 'pg'
import { readState } from './migrate.js'
import { explainOpenFailure, placeOf } from './errors.js'
import { schema } from './schema/schema.js'
import { requireFittingServer } from './server-check.js'

/** Version 0 is a database without the schema. `newest` is the version of this release. */
export type PostgresSchema = { readonly version: number; readonly newest: number }

const CONNECT_MS = 5_000

/** Reads the schema version and changes nothing. Rejects with a `PostgresOpenError`. */
export async function readPostgresSchema({
  connectionString,
}: {
  readonly connectionString: string
}): Promise<PostgresSchema> {
  const client = new pg.Client({ connectionString, connectionTimeoutMillis: CONNECT_MS })
  client.on('error', () => undefined) // the running query reports it
  try {
    await client.connect()
    await requireFittingServer(client)
    const state = await readState(client, schema)
    return { version: state?.version ?? 0, newest: schema.migrations.length }
  } catch (error) {
    throw explainOpenFailure(placeOf(client), error)
  } finally {
    await client.end().catch(() => undefined)
  }
}
