import type { Unavailable } from '@org/agent-messaging-core'
import pg from 'pg'

export const unavailable = (reason: string): Unavailable => ({ kind: 'unavailable', reason })

/** PostgreSQL's messages name tables and constraints; its `detail`, which holds values, is left out. */
export function unavailableBecause(error: unknown): Unavailable {
  if (error instanceof pg.DatabaseError) return unavailable(`${error.code ?? 'PostgreSQL'}: ${error.message}`)
  if (error instanceof SyntaxError) return unavailable('SyntaxError: a stored text is not JSON')
  return unavailable(error instanceof Error ? error.message : String(error))
}
