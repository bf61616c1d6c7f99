import type { Crypto } from '@org/agent-messaging-core/runtime'
import type { Storage } from '@org/agent-messaging-core/storage'
import { initSetting } from './init-setting.js'
import { SetupError, valueOrSetupError } from './setup-error.js'

const CANARY = 'master-key-canary'
const MISMATCH =
  'the master key does not match this database; use the key that encrypted the database'

/** Throws unless this master key belongs to the database. Another key could decrypt nothing. */
export async function checkMasterKey(storage: Storage, crypto: Crypto): Promise<void> {
  const stored = await valueOrSetupError(
    initSetting(storage, CANARY, canaryOf(crypto)),
    'cannot use the database',
  )
  if (!crypto.isMac(CANARY, 'v1', stored)) throw new SetupError(MISMATCH, 2)
}

/**
 * Returns why no server could use a copy of a database with this master key. The settings are the
 * copy's. A copy without any secret matches every key.
 */
export function keyMismatch(
  settings: ReadonlyMap<string, string>,
  crypto: Crypto,
): string | undefined {
  const stored = settings.get(CANARY)
  return stored === undefined || crypto.isMac(CANARY, 'v1', stored) ? undefined : MISMATCH
}

/** Makes the present master key the only one that opens the database. */
export async function adoptMasterKey({ credentials }: Storage, crypto: Crypto): Promise<void> {
  const stored = await valueOrSetupError(
    credentials.readSetting(CANARY),
    'cannot read the database',
  )
  if (stored !== undefined)
    await valueOrSetupError(
      credentials.replaceSetting(CANARY, stored, canaryOf(crypto)),
      'cannot write to the database',
    )
}

/**
 * Tells which key belongs to the database: the master key, one of the other keys, or none.
 * Every master key matches an empty database.
 */
export async function matchingKey(
  storage: Storage,
  crypto: Crypto,
): Promise<'master key' | 'other key' | 'none'> {
  const stored = await valueOrSetupError(
    storage.credentials.readSetting(CANARY),
    'cannot read the database',
  )
  if (stored === undefined || crypto.equal(stored, canaryOf(crypto))) return 'master key'
  return crypto.isMac(CANARY, 'v1', stored) ? 'other key' : 'none'
}

const canaryOf = (crypto: Crypto): string => crypto.mac(CANARY, 'v1')
