import Database from 'better-sqlite3'
import type { Unavailable } from '@org/agent-messaging-core/storage'

export const unavailable = (reason: string): Unavailable => ({ kind: 'unavailable', reason })

/** SQLite's messages name tables and columns, never values. */
export function unavailableBecause(error: unknown): Unavailable {
  if (error instanceof Database.SqliteError) return unavailable(`${error.code}: ${error.message}`)
  // A parser quotes the text that it failed on, which may be anybody's.
  if (error instanceof SyntaxError) return unavailable('SyntaxError: a stored text is not JSON')
  return unavailable(String(error))
}
