import { existsSync } from 'node:fs'
import Database from 'better-sqlite3'
import { explainOpenFailure, SqliteOpenError } from '../database/errors.js'
import { trueName, whileAlone } from '../database/liveness.js'
import { openSqliteStorage } from '../open.js'

/** Each row has its values in the order of `columns`. */
export type SqliteTable = {
  readonly name: string
  readonly columns: readonly string[]
  readonly count: number
  readonly rows: Iterable<readonly (string | number | null)[]>
}

export type TablesOptions<T> = {
  readonly path: string
  /**
   * Receives the tables. A table comes after the tables that its rows refer to. No other process
   * can open the file until `work` ends.
   */
  readonly work: (tables: readonly SqliteTable[]) => Promise<T>
}

const TABLES = [
  'settings',
  'projects',
  'api_keys',
  'agents',
  'sessions',
  'messages',
  'past_runs',
  'message_parts',
  'erasures',
  'webhooks',
  'subscriptions',
  'events',
  'publish_requests',
  'event_logs',
  'event_listeners',
  'deliveries',
  'header_names',
  'attempts',
  'recoveries',
  'recovery_leavers',
  'audit_log',
  'portal_sessions',
  'event_types',
  'count_entries',
  'counts',
  'counting',
]

/**
 * Reads all rows of a file, so that another store can take them over. First migrates the file and
 * releases the claims of dead processes. Rejects with `SqliteOpenError` if the file cannot be read,
 * or with the error of `work`.
 */
export async function readSqliteTables<T>({ path, work }: TablesOptions<T>): Promise<T> {
  if (!existsSync(path)) throw new SqliteOpenError(`${path}: there is no such file.`)
  const place = trueName(path)
  await whileAlone(place, () => undefined) // before the migration
  await openSqliteStorage({ path: place }).close()
  return whileAlone(place, async () => {
    const db = new Database(place, { readonly: true })
    try {
      return await work(TABLES.map((name) => tableOf(db, name)))
    } catch (error) {
      throw error instanceof Database.SqliteError ? explainOpenFailure(place, error) : error
    } finally {
      db.close()
    }
  })
}

function tableOf(db: Database.Database, name: string): SqliteTable {
  const columns = COLUMNS[name] ?? columnsOf(db, name)
  const source = SOURCES[name] ?? name
  const values = columns.map((column) => VALUES[`${name}.${column}`] ?? column)
  const read = db
    .prepare<[], (string | number | null)[]>(`select ${values.join(', ')} from ${source}`)
    .raw()
  return {
    name,
    columns,
    count: db.prepare<[], number>(`select count(*) from ${source}`).pluck().get() ?? 0,
    rows: { [Symbol.iterator]: () => read.iterate() },
  }
}

const columnsOf = (db: Database.Database, table: string): string[] =>
  db
    .prepare<[string], string>('select name from pragma_table_info(?)')
    .pluck()
    .all(table)
    .filter((column) => `${table}.${column}` !== CLAIMED)
    .concat(ADDED[table] ?? [])

/**
 * Only SQLite has this column. Other stores have a state `sending`. A server that started between
 * the two checks above and was killed can leave claimed rows.
 */
const CLAIMED = 'deliveries.is_claimed'
const VALUES: Readonly<Record<string, string>> = {
  // Readers of the copy continue at their positions.
  'events.position': 'seq',
  'deliveries.state':
    "case when is_claimed = 1 and due_at is not null then 'sending' else state end",
}

/** Other stores count the positions of each project, and assign them after the commit. */
const COLUMNS: Readonly<Record<string, readonly string[]>> = {
  event_logs: ['project_id', 'last_position', 'floor'],
}
const SOURCES: Readonly<Record<string, string>> = {
  event_logs: `(
    select id as project_id, coalesce(floor, 0) as floor,
      coalesce((select seq from sqlite_sequence where name = 'events'), 0) as last_position
    from projects left join event_logs on event_logs.project_id = id)`,
}
const ADDED: Readonly<Record<string, readonly string[]>> = {
  events: ['position'],
}
