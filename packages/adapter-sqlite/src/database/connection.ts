import { accessSync, closeSync, constants, existsSync, openSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import Database from 'better-sqlite3'
import { isBusy, SqliteOpenError } from './errors.js'

/**
 * A larger cache uses memory and made no measured workload faster: the system caches the file too.
 */
const CACHE_KIB = 16 * 1024
/** A checkpoint copies a page once, however often it was written since the last one. 16 MiB. */
const CHECKPOINT_PAGES = 4_000
const WAL_TRIES = 50
const WAL_PAUSE_MS = 10

/** Opens the file with the settings for durable commits and for large files. */
export function openConnection(path: string, busyTimeoutMs: number): Database.Database {
  requireWritableFolder(path)
  refuseLogAlone(path)
  createForOwnerOnly(path)
  const db = new Database(path, { timeout: busyTimeoutMs })
  try {
    return configure(db)
  } catch (error) {
    db.close()
    throw error
  }
}

function configure(db: Database.Database): Database.Database {
  switchToWal(db)
  // The driver opens a file in WAL mode with NORMAL, which does not sync commits.
  db.pragma('synchronous = FULL')
  // On macOS, a plain fsync leaves data in the drive's cache. Elsewhere this has no effect.
  db.pragma('fullfsync = ON')
  db.pragma('foreign_keys = ON')
  db.pragma(`cache_size = -${CACHE_KIB}`)
  db.pragma('temp_store = MEMORY')
  db.pragma(`wal_autocheckpoint = ${CHECKPOINT_PAGES}`)
  // Never run ANALYZE or PRAGMA optimize: with statistics, SQLite prepares a statement again at
  // each binding.
  return db
}

/**
 * Two processes that switch a new file at the same moment fail at once, with any busy timeout.
 * A later try finds the file switched.
 */
function switchToWal(db: Database.Database): void {
  for (let tries = 1; ; tries++) {
    try {
      db.pragma('journal_mode = WAL')
      return
    } catch (error) {
      if (!isBusy(error) || tries === WAL_TRIES) throw error
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, WAL_PAUSE_MS)
    }
  }
}

/**
 * Creates a missing file that only its owner can read, because messages are confidential. SQLite
 * gives the files beside it the same mode.
 */
export function createForOwnerOnly(path: string): void {
  if (path !== ':memory:' && !existsSync(path)) closeSync(openSync(path, 'a', 0o600))
}

/** SQLite deletes a log beside an empty file, and the log holds the last commits of its file. */
function refuseLogAlone(path: string): void {
  const log = statSync(`${path}-wal`, { throwIfNoEntry: false })
  if (path === ':memory:' || existsSync(path) || !log?.size) return
  throw new SqliteOpenError(
    `${path} is missing, but its log ${path}-wal has commits. Move the file back beside its log, ` +
      'or move the log away to begin with an empty file.',
  )
}

function requireWritableFolder(path: string): void {
  if (path === ':memory:') return
  // SQLite takes an empty name for a temporary database, and deletes it when it closes.
  if (path.trim() === '') throw new SqliteOpenError('the path of the SQLite file is empty.')
  accessSync(`${dirname(path)}/`, constants.W_OK)
}
