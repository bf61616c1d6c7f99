import type { MessagingService } from '@org/agent-messaging-core'
import { builtInAgents, loadAgents, noAgentsFile } from '../agents-file.js'
import type { Config } from '../settings/config.js'
import { devAddresses, existingDevDatabase } from '../settings/dev-files.js'
import { loadConfig } from '../settings/load-config.js'
import { OperatorError } from '../operator-error.js'
import { shownDatabase } from '../urls.js'

/**
 * Opens the configured database, or the one that `dev` created here, for one command. `work` gets
 * the database without its password. The service is not started. A server on the database starts
 * and stops the agents.
 */
export async function onDatabase(
  work: (service: MessagingService, database: string) => Promise<void>,
  agentsFile?: string,
  otherwise?: string,
) {
  const config = loadConfig()
  const databasePath = databaseOf(config, otherwise)
  const existing = existingDevDatabase(config)
  const { masterKey } = existing ?? config
  if (masterKey === undefined)
    throw new OperatorError(
      'SERVICE_MASTER_KEY is required; set it to the master key of this database',
      2,
    )
  const file = agentsFile === undefined ? noAgentsFile : await loadAgents(agentsFile)
  const addresses = existing
    ? devAddresses(config)
    : { ...(config.allowedCidrs && { allowedCidrs: config.allowedCidrs }) }
  const { policy, publicUrl, otherMasterKeys } = config
  // The module is slow to load, so only commands that need it import it.
  const { wire } = await import('@org/agent-messaging-node/wiring')
  const wiring = await wire(
    {
      databasePath,
      masterKey,
      otherMasterKeys,
      agents: { ...builtInAgents, ...file.agents },
      programs: file.programs,
      environment: process.env,
      addresses,
      policy,
      telemetry: { record: () => undefined }, // a command reports its own failures
    },
    () => publicUrl,
  )
  try {
    await work(wiring.service, shownDatabase(databasePath))
  } finally {
    await wiring.close()
  }
}

/** The path or URL of the database that commands use. `otherwise` ends the error message. */
export function databaseOf(config: Config, otherwise = '') {
  const database = config.databasePath ?? existingDevDatabase(config)?.databasePath
  if (database !== undefined) return database
  throw new OperatorError(
    `no database found; set SERVICE_DATABASE_URL, or run \`agent-messaging dev\` in this directory first${otherwise}`,
    2,
  )
}
