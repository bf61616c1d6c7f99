import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import path from 'node:path'
import { nodeCrypto } from '@org/agent-messaging-core/node'
import { newSecret, type Crypto } from '@org/agent-messaging-core/runtime'
import { newApiKey } from '@org/agent-messaging-core/host'
import type { AddressPolicy } from '@org/agent-messaging-adapter-outbound'
import type { Config } from './config.js'
import { masterKey as masterKeyText } from './config-values.js'
import { OperatorError } from '../operator-error.js'
import { createPrivateDirectory, readOrCreateText } from '@org/agent-messaging-node/wiring'

const DIRECTORY = 'data'
export const devFiles = {
  database: path.join(DIRECTORY, 'agent-messaging.db'),
  masterKey: path.join(DIRECTORY, 'master-key'),
  apiKey: path.join(DIRECTORY, 'api-key'),
  webhookSecret: path.join(DIRECTORY, 'webhook-secret'),
}

type DevDatabase = { readonly databasePath: string; readonly masterKey: Uint8Array }

export type DevSettings = DevDatabase & { readonly apiKey: string }

/**
 * Reads settings that the environment lacks from `data/`. The first start creates them, and a
 * secret for the webhook of the quick start.
 */
export function readOrCreateDevSettings(config: Config): DevSettings {
  const { databasePath = devFiles.database, bootstrapApiKey } = config
  const needsFiles = [config.databasePath, config.masterKey, bootstrapApiKey].includes(undefined)
  if (needsFiles) createPrivateDirectory(DIRECTORY)
  const masterKey = config.masterKey ?? readOrCreateMasterKey(databasePath)
  if (needsFiles) readOrCreateText(devFiles.webhookSecret, () => newSecret(randomBytes))
  return {
    databasePath,
    masterKey,
    apiKey: bootstrapApiKey ?? readOrCreateText(devFiles.apiKey, () => newApiKey(randomBytes)),
  }
}

/** The database and master key that `dev` created in this directory, if they exist. */
export function existingDevDatabase(config: Config): DevDatabase | undefined {
  const { databasePath = devFiles.database, masterKey } = config
  const exists =
    config.databasePath === undefined
      ? existsSync(databasePath)
      : masterKey === undefined && existsSync(devFiles.masterKey)
  return exists
    ? { databasePath, masterKey: masterKey ?? readOrCreateMasterKey(databasePath) }
    : undefined
}

/** The file or the variable that contains the master key of the commands' database. */
export const masterKeyLocation = (config: Config): string =>
  config.masterKey === undefined && existingDevDatabase(config)
    ? devFiles.masterKey
    : 'SERVICE_MASTER_KEY'

/** The crypto of the configured master key, or of the one that `dev` created here. */
export function configuredCrypto(config: Config): Crypto | undefined {
  const key =
    config.masterKey ?? (existsSync(devFiles.masterKey) ? readOrCreateKeyFile() : undefined)
  return key && nodeCrypto(key, config.otherMasterKeys)
}

/** Allows receivers and agents on loopback addresses, also over http:. */
export const devAddresses = ({ allowedCidrs = [] }: Config): AddressPolicy => ({
  allowLoopback: true,
  allowHttp: true,
  allowedCidrs,
})

function readOrCreateMasterKey(databasePath: string) {
  if (existsSync(databasePath) && !existsSync(devFiles.masterKey)) {
    throw new OperatorError(
      `${devFiles.masterKey} is missing, but ${databasePath} needs it; restore it, or move the database away`,
      2,
    )
  }
  return readOrCreateKeyFile()
}

function readOrCreateKeyFile() {
  const key = masterKeyText.safeParse(
    readOrCreateText(devFiles.masterKey, () => randomBytes(32).toString('base64')),
  )
  if (key.success) return key.data
  throw new OperatorError(`${devFiles.masterKey} must contain 32 bytes as base64 or hex`, 2)
}
