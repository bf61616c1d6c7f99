import { SqliteOpenError } from '@org/agent-messaging-sqlite'
import { OperatorError } from '../operator-error.js'

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

/**
 * Runs work that a signal can abort. The work cleans up when it is aborted.
 * Then the signal ends the process as usual. A second signal ends it at once.
 * Rejects with an `OperatorError` if a database cannot be opened.
 */
export async function interruptible<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const controller = new AbortController()
  const { signal } = controller
  const abort = (name: NodeJS.Signals) => controller.abort(name)
  for (const name of SIGNALS) process.once(name, abort)
  try {
    return await work(signal)
  } catch (error) {
    // Most commands need no PostgreSQL, and its driver loads slowly.
    const { PostgresOpenError } = await import('@org/agent-messaging-postgres')
    throw error instanceof SqliteOpenError || error instanceof PostgresOpenError
      ? new OperatorError(error.message)
      : error
  } finally {
    for (const name of SIGNALS) process.off(name, abort)
    if (signal.aborted) process.kill(process.pid, signal.reason as NodeJS.Signals)
  }
}
