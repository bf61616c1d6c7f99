import { existsSync, realpathSync } from 'node:fs'
import path from 'node:path'
import Database from 'better-sqlite3'
import { createForOwnerOnly } from './connection.js'
import { explainOpenFailure, isBusy, SqliteOpenError } from './errors.js'
import { giveToOwnerOf } from '../maintenance/files.js'

/** Long enough that two processes that start at the same instant do not refuse each other. */
const EXCLUSIVE_TIMEOUT_MS = 20
/** Only the start of another process can delay the shared lock. */
const SHARED_TIMEOUT_MS = 30_000

/** `alone`: no other process had the storage open when it was opened. */
export type Liveness = { readonly alone: boolean; close(): void }

/**
 * Keeps the locks of storages that are never closed from garbage collection, which would release
 * them.
 */
const heldLocks = new Set<Database.Database>()

/**
 * Tells whether another live process can hold claims on the storage at `file`, and tells other
 * processes about this one. See docs/decisions/0003.
 *
 * Each process that has the storage open holds a shared lock on a file beside it. A process that
 * gets the exclusive lock is alone, and runs `whenAlone` under that lock. The operating system
 * releases the locks of a process however it ends.
 *
 * The lock file is an empty SQLite database, because SQLite's locking is portable. The file uses a
 * rollback journal, because in WAL mode readers and a writer do not exclude each other.
 */
export function openLiveness(file: string, whenAlone: () => void): Liveness {
  const lock = openLock(file)
  try {
    const alone = tryExclusive(lock)
    if (alone) {
      whenAlone()
      lock.exec('commit')
    }
    // Another process can find itself alone here. That is correct: this one has claimed nothing
    // yet.
    holdShared(lock)
    heldLocks.add(lock)
    return { alone, close: () => void (heldLocks.delete(lock) && lock.close()) }
  } catch (error) {
    lock.close()
    throw error
  }
}

/**
 * Runs `work` while no process has the storage at `file` open. A process that opens it during
 * `work` waits. Rejects with `SqliteOpenError` if the storage is in use.
 */
export async function whileAlone<T>(file: string, work: () => T | Promise<T>): Promise<T> {
  const lock = openLock(file)
  try {
    if (!tryExclusive(lock))
      throw new SqliteOpenError(`${file} is in use by another process; stop that process first.`)
    return await work()
  } finally {
    lock.close()
  }
}

function openLock(file: string): Database.Database {
  const lock = `${trueName(file)}-lock`
  try {
    if (!existsSync(lock)) {
      createForOwnerOnly(lock)
      if (existsSync(file)) giveToOwnerOf(file, lock)
    }
    return new Database(lock)
  } catch (error) {
    throw explainOpenFailure(lock, error)
  }
}

/** Resolves symbolic links, as SQLite does, so that all names of a file share one lock. */
export const trueName = (file: string): string =>
  existsSync(file)
    ? realpathSync(file)
    : path.join(realpathSync(path.dirname(file)), path.basename(file))

function tryExclusive(lock: Database.Database): boolean {
  lock.pragma(`busy_timeout = ${EXCLUSIVE_TIMEOUT_MS}`)
  try {
    lock.exec('begin exclusive')
    return true
  } catch (error) {
    if (isBusy(error)) return false
    throw error
  }
}

/** The transaction keeps its read lock until the connection closes. */
function holdShared(lock: Database.Database): void {
  lock.pragma(`busy_timeout = ${SHARED_TIMEOUT_MS}`)
  lock.exec('begin; select 1 from sqlite_master')
}
