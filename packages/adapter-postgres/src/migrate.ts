import type { ClientBase } from 'pg'
import { codeOf } from './error-code.js'
import { PostgresOpenError } from './open-error.js'

/** 'AMSG': what those who migrate hold one after the other. */
const LOCK = 0x414d5347
/**
 * A step that waits for a table holds up all who come after it, the release before among them: it lets go soon, and tries again. In all
 * that is half a minute of another's transaction.
 */
const LOCK_TIMEOUT = "set local lock_timeout = '1s'"
const MOST_TRIES = 30
const LOCK_NOT_AVAILABLE = '55P03'

/**
 * Brings the schema to the newest version, each step whole or not at all. Processes that start at once take turns, and each goes on
 * from the version that it then finds. The lock ends with its transaction, so that it also holds behind a pooler.
 *
 * The release before goes on working meanwhile and afterwards, since a step only adds: tables, columns that may be absent, indexes that a
 * small table gets, functions under new names. A function may also be put in other words that take, do and give the same.
 * What nobody uses any more goes one release later, in a step that raises
 * `schema_version.works_from` to the number of migrations that a release has to know.
 */
export async function migrate(client: ClientBase, migrations: readonly string[]): Promise<void> {
  for (let [isDone, tries] = [false, 1]; !isDone;) {
    await client.query('begin isolation level read committed')
    try {
      await client.query(`select pg_advisory_xact_lock(${LOCK})`)
      await client.query(LOCK_TIMEOUT)
      isDone = await takeStep(client, migrations)
      await client.query('commit')
    } catch (error) {
      await client.query('rollback').catch(() => undefined) // what it failed with says more
      if (codeOf(error) !== LOCK_NOT_AVAILABLE || tries++ === MOST_TRIES) throw error
    }
  }
}

/** Gives whether there was nothing left to do. */
async function takeStep(client: ClientBase, migrations: readonly string[]): Promise<boolean> {
  const { version, works_from: worksFrom = 1 } = (await versionOf(client)) ?? (await begun(client))
  if (version > migrations.length) {
    if (worksFrom <= migrations.length) return true
    throw new PostgresOpenError(
      `the schema agent_messaging has version ${version}, written by a newer release; this one knows versions up to ` +
        `${migrations.length}. Install that release again.`,
    )
  }
  const next = migrations[version]
  if (next === undefined) return true
  await client.query(next)
  await client.query('update agent_messaging.schema_version set version = $1', [version + 1])
  return false
}

type Version = { readonly version: number; readonly works_from?: number }

/** Undefined while nobody has been here. */
export async function versionOf(client: ClientBase): Promise<Version | undefined> {
  const there = await client.query<{ table: unknown }>(
    "select to_regclass('agent_messaging.schema_version') as table",
  )
  if (there.rows[0]?.table === null) return undefined
  const { rows } = await client.query<Version>('select * from agent_messaging.schema_version')
  return rows[0]
}

async function begun(client: ClientBase): Promise<Version> {
  const { rows } = await client.query<{ schema: unknown }>(
    "select to_regnamespace('agent_messaging') as schema",
  )
  if (rows[0]?.schema === null) await client.query('create schema agent_messaging')
  await client.query('create table agent_messaging.schema_version (version integer not null)')
  await client.query('insert into agent_messaging.schema_version values (0)')
  return { version: 0 }
}
