import { createRequire } from 'node:module'
import { SqliteOpenError } from './errors.js'

/** better-sqlite3 13 needs Node-API 10. On a Node without it, the driver crashes the process. */
const NODE_API_OF_DRIVER_13 = 10

/**
 * Throws `SqliteOpenError` if the driver does not run on this Node. Call it before the driver's
 * first use.
 */
export function requireFittingDriver(): void {
  const { version } = createRequire(import.meta.url)('better-sqlite3/package.json') as {
    version: string
  }
  const problem = driverProblem(version, process.versions)
  if (problem !== undefined) throw new SqliteOpenError(problem)
}

export function driverProblem(
  driver: string,
  runtime: { readonly node: string; readonly napi?: string },
): string | undefined {
  const needsNodeApi = Number.parseInt(driver, 10) >= 13
  if (!needsNodeApi || Number(runtime.napi ?? 0) >= NODE_API_OF_DRIVER_13) return undefined
  return `better-sqlite3 ${driver} does not run on Node ${runtime.node}: install better-sqlite3 12, or use Node 22.14 or newer.`
}
