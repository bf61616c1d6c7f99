import type { Database } from 'better-sqlite3'
import { SqliteOpenError } from './open-error.js'

/** 'AMSG' in the file's header: tells our file from another application's. */
const APPLICATION_ID = 0x414d5347

/**
 * Brings the file to the newest version, each step whole or not at all. Processes that start at once take turns, and each
 * goes on from the version that it then finds.
 */
export function migrate(db: Database, migrations: readonly string[]): void {
  const version = (): number => db.pragma('user_version', { simple: true }) as number
  const step = db.transaction(() => {
    const next = migrations[version()]
    if (next === undefined) return
    db.exec(next)
    db.pragma(`application_id = ${APPLICATION_ID}`)
    db.pragma(`user_version = ${version() + 1}`)
  })

  requireOurs(db)
  while (version() < migrations.length) step.immediate()
  if (version() > migrations.length) {
    throw new SqliteOpenError(
      `${db.name} has schema version ${version()}, written by a newer release; this one knows versions up to ${migrations.length}. ` +
        'Install that release again, or go back to a copy of the file from before the upgrade.',
    )
  }
}

/** Refuses what another application wrote. A file with nothing in it is anybody's. */
export function requireOurs(db: Database, name = db.name): void {
  const isEmpty = db.prepare('select 1 from sqlite_master limit 1').get() === undefined
  if (isEmpty || db.pragma('application_id', { simple: true }) === APPLICATION_ID) return
  throw new SqliteOpenError(
    `${name} is a SQLite database of another application; name a file of its own for this service.`,
  )
}
