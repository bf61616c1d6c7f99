import { randomUUID } from 'node:crypto'
import { chmodSync, existsSync, renameSync, rmSync, statSync } from 'node:fs'
import path from 'node:path'
import Database from 'better-sqlite3'
import { backupSqlite } from './backup.js'
import { keepBeside, syncFolder } from './file-place.js'
import { trueName, whileAlone } from './liveness.js'
import { requireOurs } from './migrate.js'
import { explainOpenFailure, SqliteOpenError } from './open-error.js'
import { giveToOwnerOf } from './owner.js'

export type RestoreOptions = {
  /** The copy, which stays as it is. */
  readonly from: string
  /** The file that it takes the place of, if there is one. */
  readonly path: string
  /** Ends the names under which the replaced files are kept, beside the new one; no such file may be there. */
  readonly suffix: string
  /** Ends the work as it does that of a backup; nothing was replaced then. */
  readonly signal?: AbortSignal | undefined
}

/** `keptAs`: where the replaced file is now; undefined when there was none. */
export type Restored = { readonly bytes: number; readonly keptAs: string | undefined }

/**
 * Puts a copy that was checked whole in the place of a file that nobody has open. A log that a killed process left beside the file
 * goes away with it: SQLite would replay it into the copy. Rejects with a `SqliteOpenError`, and then nothing was replaced.
 */
export async function restoreSqlite({
  from,
  path: file,
  suffix,
  signal,
}: RestoreOptions): Promise<Restored> {
  try {
    const place = trueName(file)
    await whileAlone(place, () => undefined) // before all the copying
    const draft = `${place}.${randomUUID()}.restored`
    try {
      const bytes = await backupSqlite({ path: from, to: draft, signal })
      requireOurData(draft, from)
      const keptAs = existsSync(place) ? `${place}${suffix}` : undefined
      if (keptAs !== undefined) makeLike(place, draft)
      await whileAlone(place, () => swap(draft, place, keptAs))
      return { bytes, keptAs }
    } finally {
      rmSync(draft, { force: true })
    }
  } catch (error) {
    signal?.throwIfAborted()
    throw explainOpenFailure(file, error)
  }
}

function requireOurData(draft: string, from: string): void {
  const db = new Database(draft, { readonly: true })
  try {
    requireOurs(db, from)
    if (db.pragma('user_version', { simple: true }) === 0)
      throw new SqliteOpenError(`${from}: there is nothing in it.`)
  } finally {
    db.close()
  }
}

/** What could open the one can open the other, whoever it is that restores. */
function makeLike(place: string, draft: string): void {
  giveToOwnerOf(place, draft)
  chmodSync(draft, statSync(place).mode)
}

/** There is a whole file at `place` at every moment. The log is named like its file, so the two can be opened together again. */
function swap(draft: string, place: string, keptAs: string | undefined): void {
  if (keptAs !== undefined) keepBeside(place, keptAs)
  for (const end of ['-wal', '-shm']) {
    if (keptAs !== undefined && existsSync(place + end)) renameSync(place + end, keptAs + end)
    else rmSync(place + end, { force: true })
  }
  renameSync(draft, place)
  syncFolder(path.dirname(place))
}
