import { readState } from './migrate.js'
import { explainOpenFailure, placeOf } from '../database/errors.js'
import { newClient } from '../database/open-client.js'
import { schema } from './schema.js'
import { requireFittingServer } from './server-check.js'

/** Version 0 is a database without the schema. */
export type PostgresSchema = {
  readonly version: number
  /** The version that this release writes. */
  readonly newest: number
  /** The oldest version whose release works with the database. */
  readonly worksFrom: number
}

/** Reads the schema version and changes nothing. Rejects with a `PostgresOpenError`. */
export async function readPostgresSchema({
  connectionString,
}: {
  readonly connectionString: string
}): Promise<PostgresSchema> {
  const client = await newClient(connectionString)
  try {
    await client.connect()
    await requireFittingServer(client)
    const state = await readState(client, schema)
    const newest = schema.migrations.length
    return { version: state?.version ?? 0, newest, worksFrom: state?.worksFrom ?? 0 }
  } catch (error) {
    throw explainOpenFailure(placeOf(client), error)
  } finally {
    await client.end().catch(() => undefined)
  }
}
