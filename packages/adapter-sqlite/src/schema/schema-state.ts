import { existsSync } from 'node:fs'
import SqliteDatabase from 'better-sqlite3'
import { explainOpenFailure } from '../database/errors.js'
import { NEWEST_VERSION, requireOurs, versionOf, worksFromOf } from './migrate.js'
import { requireFittingNode } from './require-node.js'

// Apart from the migrations, whose types name the driver: a host has no types of it.

/** Version 0 is a missing or empty file. */
export type SqliteSchema = {
  readonly version: number
  /** The version that this release writes. */
  readonly newest: number
  /** The oldest version whose release works with the file. */
  readonly worksFrom: number
}

/** Reads the schema version of the file and changes nothing. Throws `SqliteOpenError`. */
export function readSqliteSchema(path: string): SqliteSchema {
  const newest = NEWEST_VERSION
  if (!existsSync(path)) return { version: 0, newest, worksFrom: 0 }
  try {
    requireFittingNode()
    const db = new SqliteDatabase(path, { readonly: true })
    try {
      requireOurs(db)
      return { version: versionOf(db), newest, worksFrom: worksFromOf(db) }
    } finally {
      db.close()
    }
  } catch (error) {
    throw explainOpenFailure(path, error)
  }
}
