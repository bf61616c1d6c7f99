import { existsSync, realpathSync } from 'node:fs'
import path from 'node:path'
import Database from 'better-sqlite3'
import { keepToOwner } from './connection.js'
import { explainOpenFailure, SqliteOpenError } from './open-error.js'
import { giveToOwnerOf } from './owner.js'

/** For this long the exclusive lock is tried: enough for two that start at the same instant not to scare each other off. */
const EXCLUSIVE_PATIENCE_MS = 20
/** For this long the shared lock is tried, which only another's start can hold up. */
const SHARED_PATIENCE_MS = 30_000

/** `alone`: nobody else had the storage open when it was opened. */
export type Liveness = { readonly alone: boolean; close(): void }

/** Collected as garbage with a storage that nobody closed, a lock would be let go while the process still works on its claims. */
const heldLocks = new Set<Database.Database>()

/**
 * Tells whether another process lives that may hold claims on the storage at `file`, and tells others that we do; see
 * docs/decisions/0003. Everyone who has the storage open holds a shared lock on a file beside it; who gets the exclusive one
 * is alone, and runs `whenAlone` under it. The operating system drops a process's locks however it ends.
 *
 * The lock file is a SQLite database, with nothing in it, for SQLite's portable locking: a rollback journal's locks are
 * plain file locks, while in WAL mode readers and a writer do not exclude each other.
 */
export function openLiveness(file: string, whenAlone: () => void): Liveness {
  const lock = lockOf(file)
  try {
    const alone = tryExclusive(lock)
    if (alone) {
      whenAlone()
      lock.exec('commit')
    }
    // Between the two locks another may find itself alone. It is right: we have claimed nothing yet.
    holdShared(lock)
    heldLocks.add(lock)
    return { alone, close: () => void (heldLocks.delete(lock) && lock.close()) }
  } catch (error) {
    lock.close()
    throw error
  }
}

/** Runs `work` while nobody has the storage at `file` open; what opens it meanwhile waits. Rejects with a `SqliteOpenError` when somebody has. */
export async function whileAlone<T>(file: string, work: () => T | Promise<T>): Promise<T> {
  const lock = lockOf(file)
  try {
    if (!tryExclusive(lock))
      throw new SqliteOpenError(`${file} is in use by another process; stop that one first.`)
    return await work()
  } finally {
    lock.close()
  }
}

function lockOf(file: string): Database.Database {
  const lock = `${trueName(file)}-lock`
  try {
    if (!existsSync(lock)) {
      keepToOwner(lock)
      if (existsSync(file)) giveToOwnerOf(file, lock)
    }
    return new Database(lock)
  } catch (error) {
    throw explainOpenFailure(lock, error)
  }
}

/** One file however it is named: SQLite follows links too. */
export const trueName = (file: string): string =>
  existsSync(file)
    ? realpathSync(file)
    : path.join(realpathSync(path.dirname(file)), path.basename(file))

function tryExclusive(lock: Database.Database): boolean {
  lock.pragma(`busy_timeout = ${EXCLUSIVE_PATIENCE_MS}`)
  try {
    lock.exec('begin exclusive')
    return true
  } catch (error) {
    if (error instanceof Database.SqliteError && error.code.startsWith('SQLITE_BUSY')) return false
    throw error
  }
}

/** A transaction that has read holds its lock until it ends, and this one ends with the connection. */
function holdShared(lock: Database.Database): void {
  lock.pragma(`busy_timeout = ${SHARED_PATIENCE_MS}`)
  lock.exec('begin; select 1 from sqlite_master')
}
