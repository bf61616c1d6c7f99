import {
  closeSync,
  constants,
  copyFileSync,
  fsyncSync,
  linkSync,
  openSync,
  renameSync,
  rmSync,
} from 'node:fs'
import path from 'node:path'

/**
 * Gives a finished draft its name, on the disk when it returns, or throws `EEXIST`: nothing is ever replaced. A rename alone would replace
 * what somebody put there meanwhile, so the name is taken first, which only one can; a hard link, not every file system has.
 */
export function putInPlace(draft: string, to: string): void {
  closeSync(openSync(to, 'wx', 0o600))
  try {
    renameSync(draft, to)
  } catch (error) {
    rmSync(to, { force: true })
    throw error
  }
  syncFolder(path.dirname(to))
}

/** There is a whole file at `place` at every moment, and one at `keptAs` too, which must not be there yet. */
export function keepBeside(place: string, keptAs: string): void {
  try {
    linkSync(place, keptAs)
  } catch (error) {
    if (codeOf(error) === 'EEXIST') throw error
    copyFileSync(place, keptAs, constants.COPYFILE_EXCL)
    sync(keptAs, 'r+')
  }
}

/** After it, what was made or renamed there is found there, whatever happens to the power. */
export function syncFolder(folder: string): void {
  if (process.platform === 'win32') return // it has no such thing
  try {
    sync(folder, 'r')
  } catch (error) {
    // Nor has every file system: those that are reached over a network keep names by themselves.
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

const codeOf = (error: unknown): string => (error as NodeJS.ErrnoException).code ?? ''
