import pg from 'pg'
import { migrate } from './migrate.js'
import { codeOf, explainOpenFailure, LOCK_NOT_AVAILABLE, PostgresOpenError } from './errors.js'
import { schema } from './schema/schema.js'
import { requireFittingServer } from './server-check.js'

type Value = string | number | null
type Rows = Iterable<readonly Value[]>

/** The rows of a table of this schema, each with its values in the order of `columns`. What is true may be a 1, and what is false a 0. */
export type FillTable = {
  readonly name: string
  readonly columns: readonly string[]
  readonly rows: Rows
}

export type FillOptions = {
  readonly connectionString: string
  /** Each behind those that its rows refer to. */
  readonly tables: readonly FillTable[]
  /** Called now and then with the rows that were taken so far. */
  readonly onProgress?: (rows: number) => void
  /** Ends the work. Rejects with its reason then. */
  readonly signal?: AbortSignal | undefined
}

const PATIENCE_MS = 5_000
/** Of one statement: the memory that it takes is a few times its length. */
const MOST_ROWS = 1_000
const MOST_LENGTH = 4 * 1024 * 1024

/** Columns of this store alone, and what they are made of. */
const MADE: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  header_names: { digest: "encode(sha256(convert_to(names, 'UTF8')), 'base64')" },
}

/**
 * Puts all that another store held into a database that holds nothing of ours, whole or not at all, and durably; the schema is made if it
 * is missing. Gives how many rows it was. Rejects with a `PostgresOpenError`, whose message is for the operator, when it cannot, and with
 * what the rows throw.
 */
export async function fillPostgres({
  connectionString,
  tables,
  onProgress = () => undefined,
  signal,
}: FillOptions): Promise<number> {
  const client = new pg.Client({ connectionString, connectionTimeoutMillis: PATIENCE_MS })
  client.on('error', () => undefined) // the query that it cuts short says so
  const explained = <T>(work: Promise<T>): Promise<T> =>
    work.catch((error: unknown) => {
      throw explainOpenFailure(
        `postgres://${client.host}:${client.port}/${client.database ?? ''}`,
        error,
      )
    })
  try {
    await explained(openEmpty(client, tables))
    let rows = 0
    for (const table of tables) {
      const insert = await explained(insertInto(client, table))
      for (const lot of lotsOf(table.rows)) {
        signal?.throwIfAborted()
        await explained(insert(lot))
        onProgress((rows += lot.length))
      }
    }
    await explained(conclude(client, tables))
    return rows
  } finally {
    await client.end().catch(() => undefined) // which undoes what was not committed
  }
}

async function openEmpty(client: pg.Client, tables: readonly FillTable[]): Promise<void> {
  await client.connect()
  await requireFittingServer(client)
  await migrate(client, schema)
  await client.query('begin')
  await requireEmpty(client, tables)
}

/** And keeps it so: a server that starts on it meanwhile waits with the first thing that it has to write. */
async function requireEmpty(client: pg.Client, tables: readonly FillTable[]): Promise<void> {
  const names = tables.map(nameOf)
  await client.query("set local lock_timeout = '5s'")
  await client.query(`lock table ${names.join(', ')} in exclusive mode`).catch((error: unknown) => {
    throw codeOf(error) === LOCK_NOT_AVAILABLE
      ? new PostgresOpenError('is in use; stop what works on it first.')
      : error
  })
  for (const name of names) {
    const { rowCount } = await client.query(`select 1 from ${name} limit 1`)
    if (rowCount !== 0)
      throw new PostgresOpenError(
        'holds data of this service already; name an empty database, or drop the schema agent_messaging.',
      )
  }
}

/** Gives what inserts a lot. */
async function insertInto(
  client: pg.Client,
  table: FillTable,
): Promise<(lot: readonly (readonly Value[])[]) => Promise<void>> {
  const insert = insertSql(table, await typesOf(client, table))
  return async (lot) => {
    const values = table.columns.map((_, at) => lot.map((row) => textOf(row[at])))
    await client.query(insert, values).catch((error: unknown) => {
      throw error instanceof pg.DatabaseError
        ? new PostgresOpenError(
            `took nothing, for ${table.name} cannot be copied (${error.code}: ${error.message}).`,
          )
        : error
    })
  }
}

/** What is made next comes after what is there. Plans made for an empty database would be slow until autovacuum comes by. */
async function conclude(client: pg.Client, tables: readonly FillTable[]): Promise<void> {
  for (const table of tables.filter(({ columns }) => columns.includes('seq')))
    await client.query(
      `select setval(pg_get_serial_sequence('${nameOf(table)}', 'seq'), max(seq)) from ${nameOf(table)}`,
    )
  await client.query('commit')
  await client.query(`analyze ${tables.map(nameOf).join(', ')}`).catch(() => undefined)
}

/** Every value comes as text, which each type reads as its own. */
function insertSql({ name, columns }: FillTable, types: ReadonlyMap<string, string>): string {
  const made = MADE[name] ?? {}
  const arrays = columns.map((_, at) => `$${at + 1}::text[]`)
  const values = columns.map((column) => `${column}::${types.get(column) ?? 'text'}`)
  return `
    insert into ${nameOf({ name })} (${[...columns, ...Object.keys(made)].join(', ')}) overriding system value
    select ${[...values, ...Object.values(made)].join(', ')} from unnest(${arrays.join(', ')}) as given (${columns.join(', ')})`
}

async function typesOf(
  client: pg.Client,
  { name }: FillTable,
): Promise<ReadonlyMap<string, string>> {
  const { rows } = await client.query<{ name: string; type: string }>(
    `select column_name as name, data_type as type from information_schema.columns where table_schema = 'agent_messaging' and table_name = $1`,
    [name],
  )
  return new Map(rows.map(({ name: column, type }) => [column, type]))
}

function* lotsOf(rows: Rows): Generator<(readonly Value[])[]> {
  let [lot, length]: [(readonly Value[])[], number] = [[], 0]
  for (const row of rows) {
    lot.push(row)
    for (const value of row) length += typeof value === 'string' ? value.length : 0
    if (lot.length < MOST_ROWS && length < MOST_LENGTH) continue
    yield lot
    ;[lot, length] = [[], 0]
  }
  if (lot.length > 0) yield lot
}

const nameOf = ({ name }: Pick<FillTable, 'name'>): string => `agent_messaging.${name}`
const textOf = (value: Value | undefined): string | null =>
  value === null || value === undefined ? null : String(value)
