import {
  chownSync,
  closeSync,
  constants,
  copyFileSync,
  fsyncSync,
  linkSync,
  openSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs'
import path from 'node:path'
import { codeOf } from '../database/errors.js'

/**
 * Gives a finished draft its name. The name is on the disk when this returns. Throws `EEXIST` if
 * the name is taken. A rename alone would replace an existing file, and not every file system has
 * hard links. Therefore the name is first reserved by an empty file, which only one process can
 * create.
 */
export function renameToNew(draft: string, to: string): void {
  closeSync(openSync(to, 'wx', 0o600))
  try {
    renameSync(draft, to)
  } catch (error) {
    rmSync(to, { force: true })
    throw error
  }
  syncFolder(path.dirname(to))
}

/** Gives the file at `place` a second name, `keptAs`. Throws `EEXIST` if that name is taken. */
export function keepAs(place: string, keptAs: string): void {
  try {
    linkSync(place, keptAs)
  } catch (error) {
    if (codeOf(error) === 'EEXIST') throw error
    copyFileSync(place, keptAs, constants.COPYFILE_EXCL)
    sync(keptAs, 'r+')
  }
}

/** Makes created and renamed files in the folder survive a power failure. */
export function syncFolder(folder: string): void {
  if (process.platform === 'win32') return // Windows cannot sync a folder.
  try {
    sync(folder, 'r')
  } catch (error) {
    // Some network file systems cannot sync a folder either. They store names at once.
    if (!['EINVAL', 'ENOTSUP'].includes(codeOf(error))) throw error
  }
}

export function sync(file: string, flags: 'r' | 'r+'): void {
  const fd = openSync(file, flags)
  try {
    fsyncSync(fd)
  } finally {
    closeSync(fd)
  }
}

/**
 * Lets the database's owner use a file that root created beside the database. SQLite does the same.
 */
export function giveToOwnerOf(database: string, created: string): void {
  if (process.geteuid?.() !== 0) return
  const { uid, gid } = statSync(database)
  chownSync(created, uid, gid)
}
