import { readPostgresSchema } from '@org/agent-messaging-postgres'
import { readSqliteSchema } from '@org/agent-messaging-sqlite'
import { isPostgresUrl } from './database-url.js'
import { OperatorError } from './operator-error.js'

/** Version 0: nothing of ours is there yet. */
export type SchemaVersion = { readonly version: number; readonly newest: number }

/** How far the database's schema has come; changes nothing. Rejects with an `OperatorError`. */
export async function schemaVersion(database: string): Promise<SchemaVersion> {
  try {
    return await (isPostgresUrl(database)
      ? readPostgresSchema({ connectionString: database })
      : readSqliteSchema(database))
  } catch (error) {
    throw new OperatorError(error instanceof Error ? error.message : String(error))
  }
}
