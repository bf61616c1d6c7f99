import { fileURLToPath } from 'node:url'
import { DatabaseSync } from 'node:sqlite'
import pg from 'pg'
import type { Query } from '../checker/facts-of-tables.js'

/** The type of times and counts, which are far below 2 ** 53. */
const BIGINT = 20

/** The tables of a server, for reading. */
export type Tables = { readonly query: Query; close(): Promise<void> }

export async function openTables(databaseUrl: string): Promise<Tables> {
  if (databaseUrl.startsWith('file:')) {
    const database = new DatabaseSync(fileURLToPath(databaseUrl), { readOnly: true })
    return {
      query: async <Row>(sql: string) => database.prepare(sql).all() as Row[],
      close: async () => database.close(),
    }
  }
  const client = new pg.Client({
    connectionString: databaseUrl,
    options: '-c search_path=agent_messaging',
    types: {
      getTypeParser: (oid: number) => (oid === BIGINT ? Number : pg.types.getTypeParser(oid)),
    },
  })
  await client.connect()
  return {
    query: async <Row>(sql: string) => (await client.query(sql)).rows as Row[],
    close: () => client.end(),
  }
}
