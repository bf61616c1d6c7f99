import { createHash } from 'node:crypto'
import type { Database } from 'better-sqlite3'
import { SqliteOpenError } from '../database/errors.js'
import { tables } from './migrations/0001-tables.js'

/** In order: entry n leads from `user_version` n to n + 1. A released migration never changes. */
export const migrations: readonly string[] = [tables]

/** 'AMWS' in the file's header. Tells this service's files from other applications' files. */
const APPLICATION_ID = 0x414d5753
/** 'AMSG'. Files of commits from before the single first migration. */
const UNRELEASED_APPLICATION_ID = 0x414d5347

/** Holds the hash of each migration of the file, so that a changed text is noticed. */
const hashesTable =
  'create table if not exists schema_migrations (number integer primary key, hash text not null) strict'

/** The `user_version` that this release writes. */
export const NEWEST_VERSION = migrations.length

/**
 * Brings the file to the newest version. Each step is one transaction. Processes that migrate at
 * the same time take turns, and each continues from the version that it finds.
 *
 * A process of the previous release keeps working beside the new schema and can start on it,
 * because a migration only adds: tables, columns that can be null, indexes. A migration of a later
 * release drops unused parts and raises `schema_version.works_from`.
 */
export function migrate(db: Database, steps: readonly string[] = migrations): void {
  const step = db.transaction(() => {
    const next = steps[versionOf(db)]
    if (next === undefined) return
    const number = versionOf(db) + 1
    db.exec(`${next};${hashesTable}`)
    db.prepare('insert into schema_migrations values (?, ?)').run(number, hashOf(next))
    db.pragma(`application_id = ${APPLICATION_ID}`)
    db.pragma(`user_version = ${number}`)
  })

  requireOurs(db, { steps })
  while (versionOf(db) < steps.length) step.immediate()
  if (versionOf(db) > steps.length && worksFromOf(db) > steps.length) {
    throw new SqliteOpenError(
      `${db.name} has schema version ${versionOf(db)}, written by a newer release; this one knows versions up to ${steps.length}. ` +
        'Install that release again, or go back to a copy of the file from before the upgrade.',
    )
  }
}

/**
 * Refuses the files of other applications and of unreleased commits, whose migrations had another
 * text. Accepts an empty file.
 */
export function requireOurs(
  db: Database,
  { name = db.name, steps = migrations }: { name?: string; steps?: readonly string[] } = {},
): void {
  const isEmpty = db.prepare('select 1 from sqlite_master limit 1').get() === undefined
  if (isEmpty) return
  const applicationId = db.pragma('application_id', { simple: true })
  if (applicationId === APPLICATION_ID && hasMigrationsOf(steps, db)) return
  throw new SqliteOpenError(
    applicationId === APPLICATION_ID || applicationId === UNRELEASED_APPLICATION_ID
      ? `${name} was written by an unreleased commit, whose tables this version cannot read; name a new file, or use that commit.`
      : `${name} is a SQLite database of another application; name a separate file for this service.`,
  )
}

/** Says nothing of the migrations that only a newer release knows. */
function hasMigrationsOf(steps: readonly string[], db: Database): boolean {
  if (!hasTable(db, 'schema_migrations')) return false
  const hashes = db.prepare('select hash from schema_migrations order by number').pluck().all()
  return steps.slice(0, hashes.length).every((text, n) => hashOf(text) === hashes[n])
}

const hashOf = (text: string): string => createHash('sha256').update(text).digest('hex')

const hasTable = (db: Database, name: string): boolean =>
  db.prepare("select 1 from sqlite_master where type = 'table' and name = ?").get(name) !==
  undefined

export const versionOf = (db: Database): number =>
  db.pragma('user_version', { simple: true }) as number

/** Returns how many migrations a release must know to work with the file. */
export function worksFromOf(db: Database): number {
  if (!hasTable(db, 'schema_version')) return versionOf(db)
  return db.prepare('select works_from from schema_version').pluck().get() as number
}
