import { existsSync } from 'node:fs'
import Database from 'better-sqlite3'
import { requireFittingDriver } from './driver-check.js'
import { explainOpenFailure, SqliteOpenError } from './errors.js'
import { tables } from './migrations/0001-tables.js'

/** In order: entry n leads from `user_version` n to n + 1. A released migration never changes. */
const migrations: readonly string[] = [tables]

/** 'AMWS' in the file's header. Tells this service's files from other applications' files. */
const APPLICATION_ID = 0x414d5753
/** 'AMSG'. Files of commits before the migrations were squashed into one. */
const UNRELEASED_APPLICATION_ID = 0x414d5347

/** Version 0 is a missing or empty file. `newest` is the version that this release writes. */
export type SqliteSchema = { readonly version: number; readonly newest: number }

/** Reads the schema version of the file and changes nothing. Throws `SqliteOpenError`. */
export function readSqliteSchema(path: string): SqliteSchema {
  const newest = migrations.length
  if (!existsSync(path)) return { version: 0, newest }
  try {
    requireFittingDriver()
    const db = new Database(path, { readonly: true })
    try {
      requireOurs(db)
      return { version: versionOf(db), newest }
    } finally {
      db.close()
    }
  } catch (error) {
    throw explainOpenFailure(path, error)
  }
}

/**
 * Brings the file to the newest version. Each step is one transaction. Processes that migrate at
 * the same time take turns, and each continues from the version that it finds.
 */
export function migrate(db: Database.Database, steps: readonly string[] = migrations): void {
  const step = db.transaction(() => {
    const next = steps[versionOf(db)]
    if (next === undefined) return
    db.exec(next)
    db.pragma(`application_id = ${APPLICATION_ID}`)
    db.pragma(`user_version = ${versionOf(db) + 1}`)
  })

  requireOurs(db)
  while (versionOf(db) < steps.length) step.immediate()
  if (versionOf(db) > steps.length) {
    throw new SqliteOpenError(
      `${db.name} has schema version ${versionOf(db)}, written by a newer release; this one knows versions up to ${steps.length}. ` +
        'Install that release again, or go back to a copy of the file from before the upgrade.',
    )
  }
}

/** Refuses the files of other applications and of unreleased commits. Accepts an empty file. */
export function requireOurs(db: Database.Database, name = db.name): void {
  const isEmpty = db.prepare('select 1 from sqlite_master limit 1').get() === undefined
  const applicationId = db.pragma('application_id', { simple: true })
  if (isEmpty || applicationId === APPLICATION_ID) return
  throw new SqliteOpenError(
    applicationId === UNRELEASED_APPLICATION_ID
      ? `${name} was written by an unreleased commit, whose tables this version cannot read; name a new file, or use that commit.`
      : `${name} is a SQLite database of another application; name a separate file for this service.`,
  )
}

const versionOf = (db: Database.Database): number =>
  db.pragma('user_version', { simple: true }) as number
