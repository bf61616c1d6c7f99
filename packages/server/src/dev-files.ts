import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import path from 'node:path'
import { newApiKey } from '@org/agent-messaging-core/runtime'
import type { AddressPolicy } from '@org/agent-messaging-outbound'
import type { Config } from './config.js'
import { masterKey as masterKeyText } from './config-values.js'
import { keptText, makeDataDirectory } from './data-directory.js'
import { OperatorError } from './operator-error.js'

const DIRECTORY = 'data'
export const devFiles = {
  database: path.join(DIRECTORY, 'agent-messaging.db'),
  masterKey: path.join(DIRECTORY, 'master-key'),
  apiKey: path.join(DIRECTORY, 'api-key'),
}

export type Kept = {
  readonly databasePath: string
  readonly masterKey: Uint8Array
  readonly apiKey: string
}

/** What the environment does not give is kept in `data/`, and made on the first start. */
export function keptOrMade({ databasePath, masterKey, bootstrapApiKey }: Config): Kept {
  if ([databasePath, masterKey, bootstrapApiKey].includes(undefined)) makeDataDirectory(DIRECTORY)
  return {
    databasePath: databasePath ?? devFiles.database,
    masterKey: masterKey ?? keptMasterKey(databasePath ?? devFiles.database),
    apiKey: bootstrapApiKey ?? keptText(devFiles.apiKey, () => newApiKey(randomBytes)),
  }
}

/** For the commands: the database and the key of an earlier `dev` in this directory, if one of them was made here. Makes nothing. */
export function keptIfMade({
  databasePath: given,
  masterKey,
}: Config): Omit<Kept, 'apiKey'> | undefined {
  const databasePath = given ?? devFiles.database
  const isMade =
    given === undefined
      ? existsSync(databasePath)
      : masterKey === undefined && existsSync(devFiles.masterKey)
  return isMade ? { databasePath, masterKey: masterKey ?? keptMasterKey(databasePath) } : undefined
}

/** Where the master key of the commands' database is. */
export const placeOfKey = (config: Config): string =>
  config.masterKey === undefined && keptIfMade(config) ? devFiles.masterKey : 'SERVICE_MASTER_KEY'

/** Loopback receivers and agents, over http: too; no other private range. */
export const devAddresses = ({ allowedCidrs = [] }: Config): AddressPolicy => ({
  allowLoopback: true,
  allowHttp: true,
  allowedCidrs,
})

function keptMasterKey(databasePath: string): Uint8Array {
  if (existsSync(databasePath) && !existsSync(devFiles.masterKey)) {
    throw new OperatorError(
      `${devFiles.masterKey} is missing, and ${databasePath} was begun with it: put it back, or move the database away`,
      2,
    )
  }
  const kept = masterKeyText.safeParse(
    keptText(devFiles.masterKey, () => randomBytes(32).toString('base64')),
  )
  if (kept.success) return kept.data
  throw new OperatorError(
    `${devFiles.masterKey} does not hold a key of 32 bytes as base64 or hex`,
    2,
  )
}
