import { randomUUID } from 'node:crypto'
import { closeSync, existsSync, openSync, rmSync, statSync } from 'node:fs'
import { setImmediate as turn } from 'node:timers/promises'
import Database from 'better-sqlite3'
import { damageOf } from './damage.js'
import { requireFittingNode } from '../schema/require-node.js'
import {
  codeOf,
  explainOpenFailure,
  isDamage,
  isNoDatabase,
  SqliteOpenError,
} from '../database/errors.js'
import { renameToNew, sync } from './files.js'

export type BackupOptions = {
  readonly path: string
  /** The path of the copy. The file must not exist. */
  readonly to: string
  /** Called from time to time with the number of copied pages and the number of all pages. */
  readonly onProgress?: (copied: number, total: number) => void
  /**
   * Aborts the backup. The final check of the copy cannot be interrupted. Rejects with the signal's
   * reason.
   */
  readonly signal?: AbortSignal | undefined
}

const PAGES_A_STEP = 1_000

/**
 * Copies a file that can be in use, as it is at one moment. Checks the whole copy, and gives it its
 * name only when it is good and on the disk. Returns its size in bytes. Rejects with
 * `SqliteOpenError`.
 */
export async function backupSqlite({
  path,
  to,
  onProgress = () => undefined,
  signal,
}: BackupOptions): Promise<number> {
  if (!existsSync(path)) throw new SqliteOpenError(`${path}: there is no such file.`)
  if (existsSync(to)) throw alreadyThere(to)
  // The name belongs to this call, so removing the file at the end cannot remove another one.
  const draft = `${to}.${randomUUID()}.partial`
  try {
    requireFittingNode()
    closeSync(openSync(draft, 'wx', 0o600)) // messages are confidential
    const onStep = (copied: number, total: number): void => {
      onProgress(copied, total)
      signal?.throwIfAborted()
    }
    await copy(path, draft, onStep).catch((error: unknown) => {
      throw isDamage(error) || isNoDatabase(error) ? explainOpenFailure(path, error) : error
    })
    check(draft, path)
    await turn() // delivers an abort that came during the check, which blocks the event loop
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
 * Opens the source in a read transaction, which sees one moment. Without it the copy would start
 * again at each commit of another process. An error names the source, because reading also needs
 * write access to its folder.
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
  if (damage !== undefined) throw new SqliteOpenError(describeDamage(path, damage))
  const db = new Database(draft)
  db.pragma('journal_mode = DELETE') // a single file, until a storage opens it
  db.close()
}

/** A good source with a damaged copy means that the copy's disk is bad. */
function describeDamage(path: string, inCopy: string): string {
  const inSource = damageOf(path, 'integrity_check')
  if (inSource === undefined) return `the copy is damaged, and was removed (${inCopy}); try again.`
  return `${path}: is a damaged SQLite database (${inSource}); restore it from an earlier backup.`
}

function keep(draft: string, to: string): void {
  sync(draft, 'r+')
  try {
    renameToNew(draft, to)
  } catch (error) {
    throw codeOf(error) === 'EEXIST' ? alreadyThere(to) : error
  }
}

const alreadyThere = (to: string) =>
  new SqliteOpenError(`${to} is there already; name another file.`)
