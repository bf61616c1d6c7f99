import { randomBytes } from 'node:crypto'
import {
  closeSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import path from 'node:path'
import { fullDiskOf } from '@org/agent-messaging-core/node'
import { SetupError } from './setup-error.js'

/** Creates a directory that only its owner can read and that git ignores, unless it exists. */
export function createPrivateDirectory(directory: string): void {
  const created = onDisk(directory, () => mkdirSync(directory, { recursive: true, mode: 0o700 }))
  if (created === undefined) return
  const ignored = path.join(directory, '.gitignore')
  try {
    onDisk(ignored, () => writeFileSync(ignored, '*\n'))
  } catch (error) {
    // Otherwise the next start would find a directory that git does not ignore.
    rmSync(created, { recursive: true })
    throw error
  }
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
  try {
    const options = { flag: 'wx', mode: 0o600, flush: true }
    onDisk(draft, () => writeFileSync(draft, `${text}\n`, options))
    linkSync(draft, file) // unlike a rename, fails if another process was faster
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error
  } finally {
    rmSync(draft, { force: true })
  }
  syncDirectory(path.dirname(file))
  return readText(file) ?? text
}

/** Throws a `SetupError` if the disk is full. */
function onDisk<T>(file: string, work: () => T) {
  try {
    return work()
  } catch (error) {
    throw codeOf(error) === 'ENOSPC' ? new SetupError(fullDiskOf(file)) : error
  }
}

const codeOf = (error: unknown) => (error as NodeJS.ErrnoException).code

function readText(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8').trim()
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined
    throw error
  }
}

function syncDirectory(directory: string) {
  if (process.platform === 'win32') return // Windows cannot sync a directory
  const fd = openSync(directory, 'r')
  fsyncSync(fd)
  closeSync(fd)
}
