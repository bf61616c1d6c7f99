import type pg from 'pg'
import { loadDriver, newClient } from '../database/driver.js'
import { codeOf, explainOpenFailure, LOCK_NOT_AVAILABLE, placeOf } from '../database/errors.js'
import { PostgresOpenError } from '../database/open-error.js'
import { migrate } from '../schema/migrate.js'
import { schema } from '../schema/schema.js'
import { requireFittingServer } from '../schema/server-check.js'

type Value = string | number | null
type Rows = Iterable<readonly Value[]>

/** The rows of a table, with values in the order of `columns`. A boolean can be 1 or 0. */
export type FillTable = {
  readonly name: string
  readonly columns: readonly string[]
  readonly rows: Rows
}

export type FillOptions = {
  readonly connectionString: string
  /** Ordered so that each table comes after the tables that it refers to. */
  readonly tables: readonly FillTable[]
  /** Called from time to time with the number of rows so far. */
  readonly onProgress?: (rows: number) => void
  /** Aborts the work, which then rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined
}

/** Limits of one statement, which takes a few times its length in memory. */
const MAX_ROWS = 1_000
const MAX_LENGTH = 4 * 1024 * 1024

/** Its only row comes with the schema, and the copy replaces it. */
const REPLACED = 'counting'

/** Columns that only this store has, and the expressions for them. */
const COMPUTED: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  header_names: { digest: "encode(sha256(convert_to(names, 'UTF8')), 'base64')" },
}

/**
 * Copies the tables of another store into an empty database, all or nothing. Creates the schema if
 * it is missing. Returns the number of rows. Rejects with a `PostgresOpenError` for the operator,
 * or with the error that the rows throw.
 */
export async function fillPostgres({
  connectionString,
  tables,
  onProgress = () => undefined,
  signal,
}: FillOptions): Promise<number> {
  const client = await newClient(connectionString)
  const explained = <T>(work: Promise<T>): Promise<T> =>
    work.catch((error: unknown) => {
      throw explainOpenFailure(placeOf(client), error)
    })
  try {
    await explained(openEmpty(client, tables))
    await client.query(`delete from ${nameOf({ name: REPLACED })}`)
    let rows = 0
    for (const table of tables) {
      const insert = await explained(insertInto(client, table))
      for (const batch of batchesOf(table.rows)) {
        signal?.throwIfAborted()
        await explained(insert(batch))
        onProgress((rows += batch.length))
      }
    }
    await explained(finish(client, tables))
    return rows
  } finally {
    await client.end().catch(() => undefined) // rolls back without a commit
  }
}

async function openEmpty(client: pg.Client, tables: readonly FillTable[]): Promise<void> {
  await client.connect()
  await requireFittingServer(client)
  await migrate(client, schema)
  await client.query('begin')
  await requireEmpty(client, tables)
}

/** Locks the tables. A server that starts in the meantime waits with its first write. */
async function requireEmpty(client: pg.Client, tables: readonly FillTable[]): Promise<void> {
  const names = tables.map(nameOf)
  const filled = tables.filter(({ name }) => name !== REPLACED).map(nameOf)
  await client.query("set local lock_timeout = '5s'")
  await client.query(`lock table ${names.join(', ')} in exclusive mode`).catch((error: unknown) => {
    throw codeOf(error) === LOCK_NOT_AVAILABLE
      ? new PostgresOpenError('is in use; stop the processes that use it first.')
      : error
  })
  for (const name of filled) {
    const { rowCount } = await client.query(`select 1 from ${name} limit 1`)
    if (rowCount !== 0)
      throw new PostgresOpenError(
        'contains data of this service already; use an empty database, or drop the schema agent_messaging.',
      )
  }
}

/** Returns a function that inserts rows. */
async function insertInto(
  client: pg.Client,
  table: FillTable,
): Promise<(batch: readonly (readonly Value[])[]) => Promise<void>> {
  const { DatabaseError } = await loadDriver()
  const insert = insertSql(table, await typesOf(client, table))
  return async (batch) => {
    const values = table.columns.map((_, at) => batch.map((row) => textOf(row[at])))
    await client.query(insert, values).catch((error: unknown) => {
      throw error instanceof DatabaseError
        ? new PostgresOpenError(
            `nothing was copied, because PostgreSQL refused a row of ${table.name} (${error.code}: ${error.message}).`,
          )
        : error
    })
  }
}

/** Advances the sequences, commits, and runs ANALYZE, so that no plan is for empty tables. */
async function finish(client: pg.Client, tables: readonly FillTable[]): Promise<void> {
  for (const table of tables.filter(({ columns }) => columns.includes('seq')))
    await client.query(
      `select setval(pg_get_serial_sequence('${nameOf(table)}', 'seq'), ${lastSeq(table)}) from ${nameOf(table)}`,
    )
  await client.query('commit')
  await client.query(`analyze ${tables.map(nameOf).join(', ')}`).catch(() => undefined)
}

/** Deliveries and messages keep the number of a recovery that was purged. */
const lastSeq = ({ name }: FillTable): string =>
  name === 'recoveries'
    ? `greatest(max(seq), (select max(recovery_seq) from ${nameOf({ name: 'deliveries' })}),
        (select max(recovery_seq) from ${nameOf({ name: 'messages' })}))`
    : 'max(seq)'

/** Sends each value as text, which PostgreSQL converts to the column's type. */
function insertSql({ name, columns }: FillTable, types: ReadonlyMap<string, string>): string {
  const computed = COMPUTED[name] ?? {}
  const arrays = columns.map((_, at) => `$${at + 1}::text[]`)
  const values = columns.map((column) => `${column}::${types.get(column) ?? 'text'}`)
  return `
    insert into ${nameOf({ name })} (${[...columns, ...Object.keys(computed)].join(', ')}) overriding system value
    select ${[...values, ...Object.values(computed)].join(', ')} from unnest(${arrays.join(', ')}) as given (${columns.join(', ')})`
}

async function typesOf(
  client: pg.Client,
  { name }: FillTable,
): Promise<ReadonlyMap<string, string>> {
  const { rows } = await client.query<{ name: string; type: string }>(
    `select column_name as name, data_type as type from information_schema.columns
      where table_schema = 'agent_messaging' and table_name = $1`,
    [name],
  )
  return new Map(rows.map(({ name: column, type }) => [column, type]))
}

function* batchesOf(rows: Rows): Generator<(readonly Value[])[]> {
  let batch: (readonly Value[])[] = []
  let length = 0
  for (const row of rows) {
    batch.push(row)
    for (const value of row) length += typeof value === 'string' ? value.length : 0
    if (batch.length < MAX_ROWS && length < MAX_LENGTH) continue
    yield batch
    batch = []
    length = 0
  }
  if (batch.length > 0) yield batch
}

const nameOf = ({ name }: Pick<FillTable, 'name'>): string => `agent_messaging.${name}`
const textOf = (value: Value | undefined): string | null =>
  value === null || value === undefined ? null : String(value)
