/** The storage cannot be opened. The message is one sentence for the operator: what is wrong and what to do. */
export class SqliteOpenError extends Error {
  override readonly name = 'SqliteOpenError'
}

/** What a failure to open `path` means for the operator. */
export function explainOpenFailure(path: string, cause: unknown): SqliteOpenError {
  if (cause instanceof SqliteOpenError) return cause
  if (isMissingDriver(cause)) {
    const message = `better-sqlite3 is not built for Node ${process.versions.node} on this machine: run npm rebuild better-sqlite3.`
    return new SqliteOpenError(message, { cause })
  }
  return new SqliteOpenError(`${path}: ${explain(codeOf(cause), cause)}`, { cause })
}

/** The driver's binary was built for another Node or another machine, or its build never ran. */
const isMissingDriver = (cause: unknown): boolean =>
  codeOf(cause) === 'ERR_DLOPEN_FAILED' ||
  (cause instanceof Error && cause.message.startsWith('Could not locate the bindings file'))

/** SQLite met pages that cannot be right. */
export const isDamage = (cause: unknown): cause is Error =>
  /^SQLITE_CORRUPT(_|$)/.test(codeOf(cause))

export const isNoDatabase = (cause: unknown): boolean => codeOf(cause) === 'SQLITE_NOTADB'

const codeOf = (cause: unknown): string =>
  cause instanceof Error && 'code' in cause ? String(cause.code) : ''

function explain(code: string, cause: unknown): string {
  if (isNoDatabase(cause))
    return 'is not a SQLite database; name another file, or move this one away.'
  if (isDamage(cause)) return 'is a damaged SQLite database; restore it from a backup.'
  if (code === 'ENOENT' || code === 'ENOTDIR') return 'its folder does not exist; create it first.'
  if (code === 'EACCES' || code === 'EROFS' || code.startsWith('SQLITE_READONLY')) {
    return 'cannot be written; give this process write access to the file and its folder.'
  }
  if (code.startsWith('SQLITE_CANTOPEN'))
    return 'cannot be opened; it has to be a file that this process may write, in a folder where it may make others.'
  if (code.startsWith('SQLITE_BUSY'))
    return 'is locked by another process; try again when that one has finished.'
  if (code === 'SQLITE_FULL') return 'its disk is full.'
  return `cannot be opened (${cause instanceof Error ? cause.message : String(cause)}).`
}
