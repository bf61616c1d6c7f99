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

/** Makes the directory, for its owner alone and left out of git by itself. One that exists is left as it is. */
export function makeDataDirectory(directory: string): void {
  const made = mkdirSync(directory, { recursive: true, mode: 0o700 })
  if (made !== undefined) writeFileSync(path.join(directory, '.gitignore'), '*\n')
}

/**
 * The text of a file that only its owner may read; made if it is missing. However many processes ask at once, all get the
 * same text, and it is on disk before anybody uses it: a master key that a power cut takes away takes all secrets with it.
 */
export function keptText(file: string, make: () => string): string {
  return readText(file) ?? keep(file, make())
}

function keep(file: string, text: string): string {
  const draft = `${file}.${randomBytes(6).toString('hex')}`
  const fd = openSync(draft, 'wx', 0o600)
  writeSync(fd, `${text}\n`)
  fsyncSync(fd)
  closeSync(fd)
  try {
    linkSync(draft, file) // a rename would replace what another process kept meanwhile
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
  if (process.platform === 'win32') return // it has no such thing
  const fd = openSync(directory, 'r')
  fsyncSync(fd)
  closeSync(fd)
}
