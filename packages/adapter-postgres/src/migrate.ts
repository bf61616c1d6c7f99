import type { ClientBase } from 'pg'
import { PostgresOpenError } from './open-error.js'

/** 'AMSG': what those who migrate hold one after the other. */
const LOCK = 0x414d5347

/**
 * Brings the schema to the newest version, each step whole or not at all. Processes that start at once take turns, and each goes on
 * from the version that it then finds. The lock ends with its transaction, so that it also holds behind a pooler.
 */
export async function migrate(client: ClientBase, migrations: readonly string[]): Promise<void> {
  for (let isDone = false; !isDone;) {
    await client.query('begin isolation level read committed')
    try {
      await client.query(`select pg_advisory_xact_lock(${LOCK})`)
      isDone = await takeStep(client, migrations)
      await client.query('commit')
    } catch (error) {
      await client.query('rollback').catch(() => undefined) // what it failed with says more
      throw error
    }
  }
}

/** Gives whether there was nothing left to do. */
async function takeStep(client: ClientBase, migrations: readonly string[]): Promise<boolean> {
  const version = (await versionOf(client)) ?? (await begun(client))
  if (version > migrations.length) {
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

/** Undefined while nobody has been here. */
export async function versionOf(client: ClientBase): Promise<number | undefined> {
  const there = await client.query<{ table: unknown }>("select to_regclass('agent_messaging.schema_version') as table")
  if (there.rows[0]?.table === null) return undefined
  const { rows } = await client.query<{ version: number }>('select version from agent_messaging.schema_version')
  return rows[0]?.version
}

async function begun(client: ClientBase): Promise<number> {
  const { rows } = await client.query<{ schema: unknown }>("select to_regnamespace('agent_messaging') as schema")
  if (rows[0]?.schema === null) await client.query('create schema agent_messaging')
  await client.query('create table agent_messaging.schema_version (version integer not null)')
  await client.query('insert into agent_messaging.schema_version values (0)')
  return 0
}
