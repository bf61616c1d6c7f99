import type { Fault } from '../checker/history.js'
import { serverProcess } from './server-process.js'
import type { Store } from './store.js'

/** A server is killed inside its n-th step of the schema of a new database, and the next one makes the rest. */
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
    await server.start({ point: 'in migration', passings: step })
    if (server.pid() !== undefined) {
      await server.kill('SIGKILL')
      break // there are no more steps
    }
    await server.start()
    await server.kill('SIGKILL')
    faults.push({ kind: 'kill in migration', at, until: Date.now() })
  }
  return faults
}
