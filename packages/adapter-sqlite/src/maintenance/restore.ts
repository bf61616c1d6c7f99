import { randomUUID } from 'node:crypto'
import { chmodSync, existsSync, renameSync, rmSync, statSync } from 'node:fs'
import path from 'node:path'
import Database from 'better-sqlite3'
import { backupSqlite } from './backup.js'
import { damageMark } from './damage.js'
import { explainOpenFailure, SqliteOpenError } from '../database/errors.js'
import { giveToOwnerOf, keepAs, syncFolder } from './files.js'
import { trueName, whileAlone } from '../database/liveness.js'
import { requireOurs } from '../schema/migrate.js'

export type RestoreOptions = {
  /** The copy to restore, which does not change. */
  readonly from: string
  /** The file that the copy replaces, if it exists. */
  readonly path: string
  /**
   * Appended to the names of the replaced files, which are kept. No file of such a name can exist.
   */
  readonly suffix: string
  /** Returns a reason to refuse the copy, whose settings are given. */
  readonly refusalOf?: ((settings: ReadonlyMap<string, string>) => string | undefined) | undefined
  /** Aborts the restore before the file is replaced. Rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined
}

/** `keptAs`: the path of the replaced file. Undefined if there was none. */
export type Restored = { readonly bytes: number; readonly keptAs: string | undefined }

/**
 * Replaces a file that no process has open by a copy, after checking the whole copy. Also moves the
 * log that a killed process left beside the file, because SQLite would replay it into the copy.
 * Rejects with `SqliteOpenError` if the file was not replaced.
 */
export async function restoreSqlite({
  from,
  path: file,
  suffix,
  refusalOf = () => undefined,
  signal,
}: RestoreOptions): Promise<Restored> {
  try {
    const place = trueName(file)
    await whileAlone(place, () => undefined) // fails before the long copy
    const draft = `${place}.${randomUUID()}.restored`
    try {
      const bytes = await backupSqlite({ path: from, to: draft, signal })
      requireOurData(draft, from, refusalOf)
      const keptAs = existsSync(place) ? `${place}${suffix}` : undefined
      if (keptAs !== undefined) copyOwnerAndMode(place, draft)
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

function requireOurData(
  draft: string,
  from: string,
  refusalOf: NonNullable<RestoreOptions['refusalOf']>,
): void {
  const db = new Database(draft, { readonly: true })
  try {
    requireOurs(db, { name: from })
    if (db.pragma('user_version', { simple: true }) === 0)
      throw new SqliteOpenError(`${from}: the database is empty.`)
    const settings = db.prepare<[], [string, string]>('select name, value from settings').raw()
    const refusal = refusalOf(new Map(settings.all()))
    if (refusal !== undefined) throw new SqliteOpenError(`${from}: ${refusal}`)
  } finally {
    db.close()
  }
}

/** Lets the users of the replaced file use the copy, also when root restores it. */
function copyOwnerAndMode(place: string, draft: string): void {
  giveToOwnerOf(place, draft)
  chmodSync(draft, statSync(place).mode)
}

/**
 * Puts the draft in place. At each moment there is a whole file at `place`. The log keeps the name
 * of its file, so that the two can be opened together again.
 */
function swap(draft: string, place: string, keptAs: string | undefined): void {
  if (keptAs !== undefined) keepAs(place, keptAs)
  for (const end of ['-wal', '-shm']) {
    if (keptAs !== undefined && existsSync(place + end)) renameSync(place + end, keptAs + end)
    else rmSync(place + end, { force: true })
  }
  rmSync(damageMark(place), { force: true })
  renameSync(draft, place)
  syncFolder(path.dirname(place))
}
