import { nodeProblem } from '@org/agent-messaging-core/node-floor'
import { SqliteOpenError } from '../database/errors.js'

/**
 * Throws `SqliteOpenError` if this Node is too old. The driver would crash the process. Call it
 * before the first use of the driver.
 */
export function requireFittingNode(): void {
  const problem = nodeProblem(process.versions.node)
  if (problem !== undefined) throw new SqliteOpenError(problem)
}
