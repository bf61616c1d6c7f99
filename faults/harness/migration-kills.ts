import type { Fault } from '../checker/history.js'
import { serverProcess } from './server-process.js'
import type { Store } from './store.js'

/** Kills a server in the n-th step of a new database's schema. The next server completes it. */
export async function killInMigrations(
  store: Store,
  folder: string,
  count: number,
): Promise<Fault[]> {
  const faults: Fault[] = []
  for (let step = 1; step <= count; step++) {
    const server = await serverProcess({
      folder,
      name: `migrated-${step}`,
      databaseUrl: await store.freshUrl(`migrated_${step}`),
    })
    const at = Date.now()
    await server.start({ point: 'in migration', times: step })
    if (server.pid() !== undefined) {
      await server.kill('SIGKILL')
      break // The schema has no n-th step.
    }
    await server.start()
    await server.kill('SIGKILL')
    faults.push({ kind: 'kill in migration', at, until: Date.now() })
  }
  return faults
}
