import { fullDiskOf } from '@org/agent-messaging-core/node'
import Database from 'better-sqlite3'
import type { Unavailable } from '@org/agent-messaging-core'

/** The storage cannot be opened. The message is for the operator. */
export class SqliteOpenError extends Error {
  override readonly name = 'SqliteOpenError'
}

/** Explains to the operator why `path` could not be opened. */
export function explainOpenFailure(path: string, cause: unknown): SqliteOpenError {
  if (cause instanceof SqliteOpenError) return cause
  if (isMissingDriver(cause)) {
    const message = `better-sqlite3 is not built for Node ${process.versions.node} on this machine: run npm rebuild better-sqlite3.`
    return new SqliteOpenError(message, { cause })
  }
  if (isDiskFull(cause)) return new SqliteOpenError(fullDiskOf(path), { cause })
  return new SqliteOpenError(`${path}: ${explain(codeOf(cause), cause)}`, { cause })
}

/** True if the driver's binary is missing, or was built for another Node version or machine. */
const isMissingDriver = (cause: unknown): boolean =>
  codeOf(cause) === 'ERR_DLOPEN_FAILED' ||
  (cause instanceof Error && cause.message.startsWith('Could not locate the bindings file'))

/** True if SQLite found a damaged page. */
export const isDamage = (cause: unknown): cause is Error =>
  /^SQLITE_CORRUPT(_|$)/.test(codeOf(cause))

/** SQLite names the file with the index of its log in the code if it cannot let that file grow. */
export const isDiskFull = (cause: unknown): boolean =>
  ['SQLITE_FULL', 'SQLITE_IOERR_SHMSIZE', 'ENOSPC', 'EDQUOT'].includes(codeOf(cause))

export const isNoDatabase = (cause: unknown): boolean => codeOf(cause) === 'SQLITE_NOTADB'

export const isBusy = (cause: unknown): boolean =>
  cause instanceof Database.SqliteError && cause.code.startsWith('SQLITE_BUSY')

/** The `code` of a Node or SQLite error, or an empty string. */
export const codeOf = (cause: unknown): string =>
  cause instanceof Error && 'code' in cause ? String(cause.code) : ''

function explain(code: string, cause: unknown): string {
  if (isNoDatabase(cause))
    return 'is not a SQLite database; name another file, or move this one away.'
  if (isDamage(cause)) return damageReport(cause)
  if (code === 'ENOENT' || code === 'ENOTDIR') return 'its folder does not exist; create it first.'
  if (code === 'EACCES' || code === 'EROFS' || code.startsWith('SQLITE_READONLY')) {
    return 'cannot be written; give this process write access to the file and its folder.'
  }
  if (code.startsWith('SQLITE_CANTOPEN'))
    return 'cannot be opened; name a file that this process can write, in a folder where it can create files.'
  if (code.startsWith('SQLITE_BUSY'))
    return 'is locked by another process; try again when that process has finished.'
  if (isDiskFailure(code)) return `${diskFailure(code)}.`
  return `cannot be opened (${cause instanceof Error ? cause.message : String(cause)}).`
}

export const unavailable = (reason: string): Unavailable => ({ kind: 'unavailable', reason })

/** A failing disk can make an intact file look damaged. Only a check of the file can tell. */
export const damageReport = ({ message }: Error): string =>
  `SQLite reports damage (${message}). Stop the server and check the file with ` +
  '"agent-messaging doctor" (or PRAGMA integrity_check). Restore a backup only if the check ' +
  'finds damage. Otherwise check the disk.'

const isDiskFailure = (code: string): boolean => code.startsWith('SQLITE_IOERR')

const DISK_STEPS: readonly (readonly [RegExp, string])[] = [
  [/_(SHORT_)?READ$/, 'reading'],
  [/_WRITE$/, 'writing'],
  [/_(DIR_)?FSYNC$/, 'syncing'],
  [/_TRUNCATE$/, 'truncating'],
  [/_(RD|UN)?LOCK$/, 'locking'],
]

function diskFailure(code: string): string {
  const step = DISK_STEPS.find(([pattern]) => pattern.test(code))?.[1] ?? 'using'
  return `the disk failed while ${step} the file (${code}); check the disk, its mount and the system log`
}

/** SQLite's messages name tables and columns, never values. */
export function unavailableBecause(error: unknown): Unavailable {
  if (isDiskFailure(codeOf(error))) return unavailable(diskFailure(codeOf(error)))
  if (error instanceof Database.SqliteError) return unavailable(`${error.code}: ${error.message}`)
  // A JSON parser quotes the text that it failed on, which can be confidential.
  if (error instanceof SyntaxError) return unavailable('SyntaxError: a stored text is not JSON')
  return unavailable(String(error))
}
