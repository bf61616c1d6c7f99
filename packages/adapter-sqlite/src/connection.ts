import { accessSync, closeSync, constants, existsSync, openSync } from 'node:fs'
import { dirname } from 'node:path'
import Database from 'better-sqlite3'
import { SqliteOpenError } from './open-error.js'

/** More is memory, and makes nothing faster that was measured: what is not here is in the system's cache. */
const CACHE_KIB = 16 * 1024
/** Of the log, until they are copied into the file: what was written several times meanwhile is copied once. 16 MiB. */
const CHECKPOINT_PAGES = 4_000
const WAL_TRIES = 50
const WAL_PAUSE_MS = 10

/** Opens the file with the settings that durability, and speed over large files, rest on. */
export function openConnection(path: string, busyTimeoutMs: number): Database.Database {
  requireWritableFolder(path)
  keepToOwner(path)
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
  // On every connection: the driver opens a file that is already in WAL mode with NORMAL, which does not sync commits.
  db.pragma('synchronous = FULL')
  // fsync on macOS leaves data in the drive's cache; this one does not. Elsewhere it has no effect.
  db.pragma('fullfsync = ON')
  db.pragma('foreign_keys = ON')
  db.pragma(`cache_size = -${CACHE_KIB}`)
  db.pragma('temp_store = MEMORY')
  db.pragma(`wal_autocheckpoint = ${CHECKPOINT_PAGES}`)
  // No ANALYZE and no PRAGMA optimize, ever: with statistics this build of SQLite prepares a statement anew at each binding.
  return db
}

/** Two that switch a new file at the same moment refuse each other at once, whatever the busy timeout; the later try finds it done. */
function switchToWal(db: Database.Database): void {
  for (let tries = 1; ; tries++) {
    try {
      db.pragma('journal_mode = WAL')
      return
    } catch (error) {
      const isBusy = error instanceof Database.SqliteError && error.code.startsWith('SQLITE_BUSY')
      if (!isBusy || tries === WAL_TRIES) throw error
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, WAL_PAUSE_MS)
    }
  }
}

/** A new file is its owner's alone, and SQLite makes those beside it like it: what people have said is for nobody else to read. */
export function keepToOwner(path: string): void {
  if (path !== ':memory:' && !existsSync(path)) closeSync(openSync(path, 'a', 0o600))
}

function requireWritableFolder(path: string): void {
  if (path === ':memory:') return
  // SQLite would take an empty name for a temporary database, and lose everything at the end.
  if (path.trim() === '') throw new SqliteOpenError('the path of the SQLite file is empty.')
  accessSync(`${dirname(path)}/`, constants.W_OK)
}
