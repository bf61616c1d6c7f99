import type { Unavailable } from '@org/agent-messaging-core/storage'
import { codeOf } from './error-code.js'

export const unavailable = (reason: string): Unavailable => ({ kind: 'unavailable', reason })

/** PostgreSQL's messages name tables and constraints; its `detail`, which holds values, is left out. */
export function unavailableBecause(error: unknown): Unavailable {
  // A parser quotes the text that it failed on, which may be anybody's.
  if (error instanceof SyntaxError) return unavailable('SyntaxError: a stored text is not JSON')
  const [code, message] = [codeOf(error), error instanceof Error ? error.message : String(error)]
  return unavailable(code === undefined ? message : `${code}: ${message}`)
}
