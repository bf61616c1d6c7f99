import type { Database } from 'better-sqlite3'
import { SqliteOpenError } from './errors.js'
import { tables } from './migrations/0001-tables.js'

/** In order: entry n leads from `user_version` n to n + 1. A released migration never changes. */
const migrations: readonly string[] = [tables]

/** 'AMWS' in the file's header. Tells this service's files from other applications' files. */
const APPLICATION_ID = 0x414d5753
/** 'AMSG'. Files of commits from before the single first migration. */
const UNRELEASED_APPLICATION_ID = 0x414d5347

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
    db.exec(next)
    db.pragma(`application_id = ${APPLICATION_ID}`)
    db.pragma(`user_version = ${versionOf(db) + 1}`)
  })

  requireOurs(db)
  while (versionOf(db) < steps.length) step.immediate()
  if (versionOf(db) > steps.length && worksFromOf(db) > steps.length) {
    throw new SqliteOpenError(
      `${db.name} has schema version ${versionOf(db)}, written by a newer release; this one knows versions up to ${steps.length}. ` +
        'Install that release again, or go back to a copy of the file from before the upgrade.',
    )
  }
}

/** Refuses the files of other applications and of unreleased commits. Accepts an empty file. */
export function requireOurs(db: Database, name = db.name): void {
  const isEmpty = db.prepare('select 1 from sqlite_master limit 1').get() === undefined
  const applicationId = db.pragma('application_id', { simple: true })
  if (isEmpty || applicationId === APPLICATION_ID) return
  throw new SqliteOpenError(
    applicationId === UNRELEASED_APPLICATION_ID
      ? `${name} was written by an unreleased commit, whose tables this version cannot read; name a new file, or use that commit.`
      : `${name} is a SQLite database of another application; name a separate file for this service.`,
  )
}

export const versionOf = (db: Database): number =>
  db.pragma('user_version', { simple: true }) as number

/** Returns how many migrations a release must know to work with the file. */
export function worksFromOf(db: Database): number {
  const find = "select 1 from sqlite_master where name = 'schema_version'"
  if (db.prepare(find).get() === undefined) return versionOf(db)
  return db.prepare('select works_from from schema_version').pluck().get() as number
}
