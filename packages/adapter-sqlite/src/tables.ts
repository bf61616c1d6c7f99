import { existsSync } from 'node:fs'
import Database from 'better-sqlite3'
import { explainOpenFailure, SqliteOpenError } from './open-error.js'
import { trueName, whileAlone } from './liveness.js'
import { openSqliteStorage } from './open.js'

/** Each of the `rows` has its values in the order of `columns`. */
export type SqliteTable = {
  readonly name: string
  readonly columns: readonly string[]
  readonly count: number
  readonly rows: Iterable<readonly (string | number | null)[]>
}

export type TablesOptions<T> = {
  readonly path: string
  /** Is given the tables, each behind those that its rows refer to. Nobody else can open the file until it has ended. */
  readonly work: (tables: readonly SqliteTable[]) => Promise<T>
}

const IN_ORDER = [
  ...[
    'settings',
    'projects',
    'api_keys',
    'agents',
    'sessions',
    'messages',
    'erasures',
    'webhooks',
    'subscriptions',
  ],
  ...['events', 'deliveries', 'header_names', 'attempts'],
]

/**
 * Reads all that a file holds, for another store to take it over: brought up to date, with the claims of dead processes released. Rejects with
 * a `SqliteOpenError` when it cannot be read, or with what `work` rejects with.
 */
export async function readSqliteTables<T>({ path, work }: TablesOptions<T>): Promise<T> {
  if (!existsSync(path)) throw new SqliteOpenError(`${path}: there is no such file.`)
  const place = trueName(path)
  await whileAlone(place, () => undefined) // before it is changed
  await openSqliteStorage({ path: place }).close()
  return whileAlone(place, async () => {
    const db = new Database(place, { readonly: true })
    try {
      return await work(IN_ORDER.map((name) => tableOf(db, name)))
    } catch (error) {
      throw error instanceof Database.SqliteError ? explainOpenFailure(place, error) : error
    } finally {
      db.close()
    }
  })
}

function tableOf(db: Database.Database, name: string): SqliteTable {
  const columns = columnsOf(db, name)
  const values = columns.map((column) => VALUES[`${name}.${column}`] ?? column)
  const read = db
    .prepare<[], (string | number | null)[]>(`select ${values.join(', ')} from ${name}`)
    .raw()
  return {
    ...{ name, columns },
    count: db.prepare<[], number>(`select count(*) from ${name}`).pluck().get() ?? 0,
    rows: { [Symbol.iterator]: () => read.iterate() },
  }
}

const columnsOf = (db: Database.Database, table: string): string[] =>
  db
    .prepare<[string], string>('select name from pragma_table_info(?)')
    .pluck()
    .all(table)
    .filter((column) => `${table}.${column}` !== CLAIMED)

/** Of this store alone: elsewhere it is a state of its own. A server that came between the two looks above and was killed may leave some. */
const CLAIMED = 'deliveries.is_claimed'
const VALUES: Readonly<Record<string, string>> = {
  'deliveries.state': "case when is_claimed = 1 then 'sending' else state end",
}
