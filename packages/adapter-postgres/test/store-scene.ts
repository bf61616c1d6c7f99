import type { Agent } from '@org/agent-messaging-core'
import type { Storage, Stored } from '@org/agent-messaging-core/storage'
import { anAgent, aProject, unwrap } from '@org/agent-messaging-testing'
import { openPostgresStorage } from '@org/agent-messaging-adapter-postgres'
import type pg from 'pg'
import { onTestFinished } from 'vitest'
import type { TestPostgres } from './test-postgres.js'

/** Returns the value of a store's method, which must succeed. */
export const done = async <T>(stored: Stored<T>): Promise<T> => unwrap(await stored)

/** Opens a storage with an agent on a new database, until the end of the test. */
export async function storeScene(
  postgres: TestPostgres,
): Promise<{ pool: pg.Pool; storage: Storage; agent: Agent }> {
  const pool = await postgres.pool()
  const storage = await openPostgresStorage({ pool })
  onTestFinished(async () => {
    await storage.close()
    await pool.end()
  })
  await done(storage.credentials.createProject(aProject()))
  const agent = anAgent()
  await done(storage.agents.create(agent, 10))
  return { pool, storage, agent }
}
