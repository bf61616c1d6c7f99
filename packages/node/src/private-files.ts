import { randomBytes } from 'node:crypto'
import {
  closeSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  unlinkSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import path from 'node:path'

/** Creates a directory that only its owner can read and that git ignores, unless it exists. */
export function createPrivateDirectory(directory: string): void {
  const created = mkdirSync(directory, { recursive: true, mode: 0o700 })
  if (created !== undefined) writeFileSync(path.join(directory, '.gitignore'), '*\n')
}

/**
 * Returns the text of a file that only its owner can read, and creates the file if it is missing.
 * Concurrent processes all get the same text. The text is on disk before the function returns,
 * so that a power cut cannot lose a master key that is already in use.
 */
export function readOrCreateText(file: string, create: () => string): string {
  return readText(file) ?? createText(file, create())
}

function createText(file: string, text: string): string {
  const draft = `${file}.${randomBytes(6).toString('hex')}`
  const fd = openSync(draft, 'wx', 0o600)
  writeSync(fd, `${text}\n`)
  fsyncSync(fd)
  closeSync(fd)
  try {
    linkSync(draft, file) // unlike a rename, fails if another process was faster
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  } finally {
    unlinkSync(draft)
  }
  syncDirectory(path.dirname(file))
  return readText(file) ?? text
}

function readText(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8').trim()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

function syncDirectory(directory: string): void {
  if (process.platform === 'win32') return // Windows cannot sync a directory
  const fd = openSync(directory, 'r')
  fsyncSync(fd)
  closeSync(fd)
}
