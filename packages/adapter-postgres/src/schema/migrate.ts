import type { ClientBase } from 'pg'
import { codeOf, explainOpenFailure, LOCK_NOT_AVAILABLE, placeOf } from '../database/errors.js'
import { newClient } from '../database/driver.js'
import { PostgresOpenError } from '../database/open-error.js'
import { hashOf, schema, type Schema } from './schema.js'
import { requireFittingServer } from './server-check.js'

/** The schema as it is in the database. */
type State = {
  readonly version: number
  /** A release must know at least this many migrations to work with the schema. */
  readonly worksFrom: number
  /** The hash of each text that made the schema: of migrations and functions, by name. */
  readonly hashes: ReadonlyMap<string, string>
}

/** 'AMSG': the advisory lock that migrating processes hold one after the other. */
const LOCK = 0x414d5347
/**
 * A migration that waits for a table blocks all statements behind it, also of the previous
 * release. So a migration gives up soon and tries again, for half a minute in all.
 */
const LOCK_TIMEOUT = "set local lock_timeout = '1s'"
const MOST_TRIES = 30

/**
 * Brings the schema to the newest version in one transaction: migrations, changed functions and the
 * version number. Processes that start at once take turns, and each continues from the version that
 * it finds. The lock ends with the transaction, so it also works behind a pooler.
 *
 * Only a process whose release knows a newer version changes anything. So a process of the previous
 * release that restarts during a rolling update does not restore its functions.
 *
 * The previous release keeps working during the migration and after, because a migration only adds:
 * tables, columns that can be null, indexes of small tables, functions with new names. A migration
 * of a later release drops unused parts and raises `schema_version.works_from`.
 */
export async function migrate(client: ClientBase, schema: Schema): Promise<void> {
  for (let tries = 1; ; tries++) {
    await client.query('begin isolation level read committed')
    try {
      await client.query(`select pg_advisory_xact_lock(${LOCK})`)
      await client.query(LOCK_TIMEOUT)
      await migrateLocked(client, schema)
      await client.query('commit')
      return
    } catch (error) {
      await client.query('rollback').catch(() => undefined) // the first error says more
      if (codeOf(error) !== LOCK_NOT_AVAILABLE || tries === MOST_TRIES) throw error
    }
  }
}

async function migrateLocked(client: ClientBase, schema: Schema): Promise<void> {
  const state = (await readState(client, schema)) ?? (await createState(client))
  const newest = schema.migrations.length
  if (state.version > newest && state.worksFrom > newest) {
    throw new PostgresOpenError(
      `the schema agent_messaging has version ${state.version}, written by a newer release; this ` +
        `one knows versions up to ${newest}. Install that release again.`,
    )
  }
  if (state.version >= newest) return
  const migrations = namedMigrations(schema).slice(state.version)
  for (const text of [...migrations, ...Object.entries(schema.functions)])
    await apply(client, text, state)
  await client.query('update agent_messaging.schema_version set version = $1', [newest])
}

/** Each migration with its name in `schema_texts`. */
const namedMigrations = ({ migrations }: Schema): (readonly [name: string, text: string])[] =>
  migrations.map((text, n) => [`migration ${n + 1}`, text])

async function apply(
  client: ClientBase,
  [name, text]: readonly [name: string, text: string],
  { hashes }: State,
): Promise<void> {
  const hash = hashOf(text)
  if (hashes.get(name) === hash) return
  await client.query(text)
  await client.query(
    `insert into agent_messaging.schema_texts (name, hash) values ($1, $2)
      on conflict (name) do update set hash = excluded.hash`,
    [name, hash],
  )
}

/**
 * Returns the state of the schema, undefined if the database has none. Rejects with a
 * `PostgresOpenError` if an unreleased commit of this project made the schema.
 */
async function readState(client: ClientBase, schema: Schema): Promise<State | undefined> {
  const { rows: found } = await client.query<{ versions: unknown; texts: unknown }>(`
    select to_regclass('agent_messaging.schema_version') as versions,
      to_regclass('agent_messaging.schema_texts') as texts`)
  if (found[0]?.versions === null) return undefined
  if (found[0]?.texts === null) throw fromAnotherCommit('the table schema_texts is missing')
  const { rows } = await client.query<{ version: number; worksFrom: number }>(
    'select version, works_from as "worksFrom" from agent_messaging.schema_version',
  )
  const known = await client.query<{ name: string; hash: string }>(
    'select name, hash from agent_messaging.schema_texts',
  )
  const hashes = new Map(known.rows.map(({ name, hash }) => [name, hash]))
  const [{ version, worksFrom } = { version: 0, worksFrom: 1 }] = rows
  const texts = namedMigrations(schema).slice(0, version)
  if (version === schema.migrations.length) texts.push(...Object.entries(schema.functions))
  const differing = texts.find(([name, text]) => hashes.get(name) !== hashOf(text))
  if (differing) throw fromAnotherCommit(`${differing[0]} differs`)
  return { version, worksFrom, hashes }
}

const fromAnotherCommit = (sign: string): PostgresOpenError =>
  new PostgresOpenError(
    `an unreleased commit of this project made the schema agent_messaging (${sign}). ` +
      'Use an empty database, or drop the schema with its data. Nothing was changed.',
  )

async function createState(client: ClientBase): Promise<State> {
  const { rows } = await client.query<{ schema: unknown }>(
    "select to_regnamespace('agent_messaging') as schema",
  )
  if (rows[0]?.schema === null) await client.query('create schema agent_messaging')
  await client.query(`
    create table agent_messaging.schema_version (
      version integer not null, works_from integer not null);
    insert into agent_messaging.schema_version values (0, 1);
    create table agent_messaging.schema_texts (name text primary key, hash text not null)`)
  return { version: 0, worksFrom: 1, hashes: new Map() }
}

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
