import { PostgresOpenError } from '@org/agent-messaging-postgres'
import { SqliteOpenError } from '@org/agent-messaging-sqlite'
import { OperatorError } from '../operator-error.js'
import { interruptible } from './interruptible.js'

/** Work on databases that a signal may end. Why one of them cannot be opened is said in a line. */
export async function inWords<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  try {
    return await interruptible(work)
  } catch (error) {
    throw error instanceof SqliteOpenError || error instanceof PostgresOpenError
      ? new OperatorError(error.message)
      : error
  }
}
