import pg from 'pg'
import { readState } from './migrate.js'
import { explainOpenFailure } from './errors.js'
import { schema } from './schema/schema.js'
import { requireFittingServer } from './server-check.js'

/** `version` 0 is a database without anything of ours; `newest` is what this release brings it to. */
export type PostgresSchema = { readonly version: number; readonly newest: number }

const PATIENCE_MS = 5_000

/** How far the database's schema has come, on a server that fits; changes nothing. Rejects with a `PostgresOpenError`. */
export async function readPostgresSchema({
  connectionString,
}: {
  readonly connectionString: string
}): Promise<PostgresSchema> {
  const client = new pg.Client({ connectionString, connectionTimeoutMillis: PATIENCE_MS })
  client.on('error', () => undefined) // the query that it cuts short says so
  try {
    await client.connect()
    await requireFittingServer(client)
    const state = await readState(client, schema)
    return { version: state?.version ?? 0, newest: schema.migrations.length }
  } catch (error) {
    throw explainOpenFailure(
      `postgres://${client.host}:${client.port}/${client.database ?? ''}`,
      error,
    )
  } finally {
    await client.end().catch(() => undefined)
  }
}
