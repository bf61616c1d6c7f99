import { okAsync } from 'neverthrow'
import type { Crypto } from '../ports/platform.js'
import type { Storage } from '../ports/storage.js'
import type { Stored } from '../ports/stored.js'

const CANARY = 'master-key-canary'
const MISMATCH =
  'the master key does not match this database; use the key that encrypted the database'

type Settings = Pick<Storage, 'credentials'>

/** The service does not run, because this key opens no secret of the storage. */
export class MasterKeyError extends Error {
  override readonly name = 'MasterKeyError'
}

/**
 * Returns why this master key does not belong to the storage, or undefined. A storage without a
 * canary gets that of this key.
 */
export const masterKeyProblem = (
  { credentials }: Settings,
  crypto: Crypto,
): Stored<string | undefined> =>
  credentials
    .readSetting(CANARY)
    .andThen((stored) =>
      stored === undefined
        ? credentials.replaceSetting(CANARY, undefined, canaryOf(crypto))
        : okAsync(true),
    )
    // Another process can have been faster, with another key.
    .andThen(() => credentials.readSetting(CANARY))
    .map((stored) => problemOf(stored, crypto))

/** Checks until the key is known to fit. The check throws a `MasterKeyError` if it does not. */
export function masterKeyCheck(storage: Settings, crypto: Crypto): () => Stored<void> {
  let fits = false
  return () =>
    fits
      ? okAsync(undefined)
      : masterKeyProblem(storage, crypto).map((problem) => {
          if (problem !== undefined) throw new MasterKeyError(problem)
          fits = true
        })
}

/**
 * Returns why no server could use a copy of a database with this master key. The settings are the
 * copy's. A copy without a canary matches every key.
 */
export const masterKeyProblemOfCopy = (
  settings: ReadonlyMap<string, string>,
  crypto: Crypto,
): string | undefined => problemOf(settings.get(CANARY), crypto)

/** Makes the present master key the only one that opens the storage. */
export const adoptMasterKey = ({ credentials }: Settings, crypto: Crypto): Stored<void> =>
  credentials
    .readSetting(CANARY)
    .andThen((stored) =>
      stored === undefined
        ? okAsync(true)
        : credentials.replaceSetting(CANARY, stored, canaryOf(crypto)),
    )
    .map(() => undefined)

/**
 * Tells which key belongs to the storage: the master key, one of the other keys, or none. Every
 * master key matches an empty storage.
 */
export const matchingKey = (
  { credentials }: Settings,
  crypto: Crypto,
): Stored<'master key' | 'other key' | 'none'> =>
  credentials.readSetting(CANARY).map((stored) => {
    if (stored === undefined || crypto.equal(stored, canaryOf(crypto))) return 'master key'
    return problemOf(stored, crypto) === undefined ? 'other key' : 'none'
  })

const problemOf = (stored: string | undefined, crypto: Crypto): string | undefined =>
  stored === undefined || crypto.isMac(CANARY, 'v1', stored) ? undefined : MISMATCH

const canaryOf = (crypto: Crypto): string => crypto.mac(CANARY, 'v1')
