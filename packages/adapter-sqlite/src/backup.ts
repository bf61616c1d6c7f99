import { randomUUID } from 'node:crypto'
import { closeSync, existsSync, openSync, rmSync, statSync } from 'node:fs'
import { setImmediate as turn } from 'node:timers/promises'
import Database from 'better-sqlite3'
import { damageOf } from './damage.js'
import { requireFittingDriver } from './driver-check.js'
import { putInPlace, sync } from './file-place.js'
import { explainOpenFailure, isDamage, isNoDatabase, SqliteOpenError } from './open-error.js'

export type BackupOptions = {
  readonly path: string
  /** The copy; must not be there yet. */
  readonly to: string
  /** Called now and then with the pages copied so far, of how many. */
  readonly onProgress?: (copied: number, total: number) => void
  /** Ends the work, but for the check of the copy, which is heeded once that is over. Rejects with its reason then. */
  readonly signal?: AbortSignal | undefined
}

const PAGES_A_STEP = 1_000

/**
 * Copies a file that may be in use, as it stands at one moment, and checks the copy whole. What is at `to` afterwards is good and on
 * the disk; until then there is nothing, but an empty file for a moment. Gives its size in bytes. Rejects with a `SqliteOpenError`.
 */
export async function backupSqlite({
  path,
  to,
  onProgress = () => undefined,
  signal,
}: BackupOptions): Promise<number> {
  if (!existsSync(path)) throw new SqliteOpenError(`${path}: there is no such file.`)
  // Of this call alone: what is removed in the end is nobody else's.
  const draft = `${to}.${randomUUID()}.partial`
  if (existsSync(to)) throw alreadyThere(to)
  try {
    requireFittingDriver()
    closeSync(openSync(draft, 'wx', 0o600)) // what people have said is for nobody else to read
    const onStep = (copied: number, total: number): void => {
      onProgress(copied, total)
      signal?.throwIfAborted()
    }
    await copy(path, draft, onStep).catch((error: unknown) => {
      throw isDamage(error) || isNoDatabase(error) ? explainOpenFailure(path, error) : error
    })
    check(draft, path)
    await turn() // what came while the check stood in the way of everything is heard of here
    signal?.throwIfAborted()
    keep(draft, to)
    return statSync(to).size
  } catch (error) {
    signal?.throwIfAborted()
    throw explainOpenFailure(to, error)
  } finally {
    for (const file of [draft, `${draft}-wal`, `${draft}-shm`]) rmSync(file, { force: true })
  }
}

async function copy(
  path: string,
  draft: string,
  onStep: (copied: number, total: number) => void,
): Promise<void> {
  const db = openSource(path)
  try {
    await db.backup(draft, {
      progress: ({ totalPages, remainingPages }) => {
        onStep(totalPages - remainingPages, totalPages)
        return PAGES_A_STEP
      },
    })
  } finally {
    db.close()
  }
}

/**
 * In a transaction that has read, and so sees one moment: a copy of what others write meanwhile begins anew at each of their commits. An
 * error names it as what is wrong: even reading takes write access to its folder.
 */
function openSource(path: string): Database.Database {
  let db: Database.Database | undefined
  try {
    db = new Database(path, { readonly: true })
    db.exec('begin; pragma schema_version')
    return db
  } catch (error) {
    db?.close()
    throw explainOpenFailure(path, error)
  }
}

function check(draft: string, path: string): void {
  const damage = damageOf(draft, 'integrity_check')
  if (damage !== undefined) throw new SqliteOpenError(whoseDamage(path, damage))
  const db = new Database(draft)
  db.pragma('journal_mode = DELETE') // one file alone; the server makes it WAL again
  db.close()
}

/** A copy is like its source, page by page, unless the disk that it went to is bad. */
function whoseDamage(path: string, inCopy: string): string {
  const inSource = damageOf(path, 'integrity_check')
  if (inSource === undefined) return `the copy is damaged, and was removed (${inCopy}); try again.`
  return `${path}: is a damaged SQLite database (${inSource}); restore it from an earlier backup.`
}

function keep(draft: string, to: string): void {
  sync(draft, 'r+')
  try {
    putInPlace(draft, to)
  } catch (error) {
    throw (error as NodeJS.ErrnoException).code === 'EEXIST' ? alreadyThere(to) : error
  }
}

const alreadyThere = (to: string) =>
  new SqliteOpenError(`${to} is there already; name another file.`)
