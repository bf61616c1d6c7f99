import type { MessagingService } from '@org/agent-messaging-core'
import { loadAgents, noAgentsFile } from '../agents-file.js'
import type { Config } from '../config.js'
import { devAddresses, keptIfMade } from '../dev-files.js'
import { loadConfig } from '../load-config.js'
import { OperatorError } from '../operator-error.js'
import type { Wiring } from '../wiring.js'

/**
 * Opens the database of the configuration, or the one that `dev` made here, for the time of one command. The service is not
 * started: it only administers, and what it asks of agents is done by the server that runs on the database, now or later.
 */
export async function onDatabase(
  work: (service: MessagingService, wiring: Pick<Wiring, 'storage' | 'platform'>) => Promise<void>,
  agentsFile?: string,
): Promise<void> {
  const config = loadConfig()
  const databasePath = databaseOf(config)
  const made = keptIfMade(config)
  const { masterKey } = made ?? config
  if (masterKey === undefined)
    throw new OperatorError('SERVICE_MASTER_KEY is not set; it takes the key of this database', 2)
  const file = agentsFile === undefined ? noAgentsFile : await loadAgents(agentsFile)
  const addresses = made
    ? devAddresses(config)
    : { ...(config.allowedCidrs && { allowedCidrs: config.allowedCidrs }) }
  const { policy, publicUrl, otherMasterKeys } = config
  const { wire } = await import('../wiring.js') // nobody else is to wait for all that a service is made of
  const wiring = await wire(
    { databasePath, masterKey, otherMasterKeys, ...file, addresses, policy },
    () => publicUrl,
  )
  try {
    await work(wiring.service, wiring)
  } finally {
    await wiring.close()
  }
}

/** The database that commands work on. */
export function databaseOf(config: Config): string {
  const found = config.databasePath ?? keptIfMade(config)?.databasePath
  if (found !== undefined) return found
  throw new OperatorError(
    'there is no database: set SERVICE_DATABASE_URL, or run `agent-messaging dev` here first',
    2,
  )
}
