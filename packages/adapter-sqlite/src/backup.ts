import { randomUUID } from 'node:crypto'
import { closeSync, existsSync, fsyncSync, linkSync, openSync, rmSync, statSync } from 'node:fs'
import Database from 'better-sqlite3'
import { requireFittingDriver } from './driver-check.js'
import { explainOpenFailure, SqliteOpenError } from './open-error.js'

export type BackupOptions = {
  readonly path: string
  /** The copy; must not be there yet. */
  readonly to: string
  /** Called now and then with the pages copied so far, of how many. */
  readonly onProgress?: (copied: number, total: number) => void
}

const PAGES_A_STEP = 1_000

/**
 * Copies a file that may be in use, as it stands at one moment, and checks the copy whole. What is at `to` afterwards is good and on
 * the disk; until then there is nothing. Gives its size in bytes. Rejects with a `SqliteOpenError`.
 */
export async function backupSqlite({ path, to, onProgress = () => undefined }: BackupOptions): Promise<number> {
  if (!existsSync(path)) throw new SqliteOpenError(`${path}: there is no such file.`)
  // Of this call alone: what is removed in the end is nobody else's.
  const draft = `${to}.${randomUUID()}.partial`
  if (existsSync(to)) throw alreadyThere(to)
  try {
    requireFittingDriver()
    closeSync(openSync(draft, 'wx', 0o600)) // what people have said is for nobody else to read
    await copy(path, draft, onProgress)
    check(draft)
    keep(draft, to)
    return statSync(to).size
  } catch (error) {
    throw explainOpenFailure(to, error)
  } finally {
    for (const file of [draft, `${draft}-wal`, `${draft}-shm`]) rmSync(file, { force: true })
  }
}

async function copy(path: string, draft: string, onProgress: (copied: number, total: number) => void): Promise<void> {
  const db = new Database(path, { readonly: true })
  try {
    await db.backup(draft, {
      progress: ({ totalPages, remainingPages }) => {
        onProgress(totalPages - remainingPages, totalPages)
        return PAGES_A_STEP
      },
    })
  } finally {
    db.close()
  }
}

function check(draft: string): void {
  const db = new Database(draft)
  try {
    db.pragma('journal_mode = DELETE') // one file alone; the server makes it WAL again
    const found = db.pragma('integrity_check', { simple: true })
    if (found !== 'ok') throw new SqliteOpenError(`the copy is damaged, and was removed (${String(found)}); try again.`)
  } finally {
    db.close()
  }
}

function keep(draft: string, to: string): void {
  const fd = openSync(draft, 'r+')
  fsyncSync(fd)
  closeSync(fd)
  try {
    linkSync(draft, to) // a rename would replace what somebody put there meanwhile
  } catch (error) {
    throw (error as NodeJS.ErrnoException).code === 'EEXIST' ? alreadyThere(to) : error
  }
}

const alreadyThere = (to: string) => new SqliteOpenError(`${to} is there already; name another file.`)
