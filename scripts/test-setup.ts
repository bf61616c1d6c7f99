import type { TestProject } from 'vitest/node'
import { sharedPostgres } from '../packages/adapter-postgres/test/shared-postgres.js'
import { ensureBundle } from '../packages/server/make-bundle.mjs'

/** Before a run: makes the programs that tests start, and offers a PostgreSQL. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  await ensureBundle()
  return sharedPostgres(project)
}
