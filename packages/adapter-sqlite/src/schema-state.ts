import { existsSync } from 'node:fs'
import Database from 'better-sqlite3'
import { requireFittingDriver } from './driver-check.js'
import { migrations } from './migrations/index.js'
import { explainOpenFailure } from './open-error.js'

/** `version` 0 is a file that is not there yet, or empty; `newest` is what this release brings it to. */
export type SqliteSchema = { readonly version: number; readonly newest: number }

/** How far the file's schema has come; changes nothing. Throws `SqliteOpenError`. */
export function readSqliteSchema(path: string): SqliteSchema {
  const newest = migrations.length
  if (!existsSync(path)) return { version: 0, newest }
  try {
    requireFittingDriver()
    const db = new Database(path, { readonly: true })
    try {
      return { version: db.pragma('user_version', { simple: true }) as number, newest }
    } finally {
      db.close()
    }
  } catch (error) {
    throw explainOpenFailure(path, error)
  }
}
