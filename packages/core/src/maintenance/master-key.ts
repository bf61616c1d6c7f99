import { okAsync } from 'neverthrow'
import type { Crypto } from '../ports/platform.js'
import { success } from '../ports/port-result.js'
import type { Storage } from '../ports/storage.js'
import type { Stored } from '../ports/stored.js'
import { chain, type Chained } from '../pacing/chain.js'

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
export async function masterKeyProblem(
  { credentials }: Settings,
  crypto: Crypto,
): Stored<string | undefined> {
  let stored = await credentials.readSetting(CANARY)
  if (stored.ok && stored.value === undefined) {
    const set = await credentials.replaceSetting(CANARY, undefined, canaryOf(crypto))
    // Another process can have been faster, with another key.
    stored = set.ok ? await credentials.readSetting(CANARY) : set
  }
  return stored.ok ? success(problemOf(stored.value, crypto)) : stored
}

/** Checks until the key is known to fit. The check throws a `MasterKeyError` if it does not. */
export function masterKeyCheck(storage: Settings, crypto: Crypto): () => Stored<void> {
  let fits = false
  return async () => {
    if (fits) return success(undefined)
    const problem = await masterKeyProblem(storage, crypto)
    if (!problem.ok) return problem
    if (problem.value !== undefined) throw new MasterKeyError(problem.value)
    fits = true
    return success(undefined)
  }
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
export const adoptMasterKey = ({ credentials }: Settings, crypto: Crypto): Chained<void> =>
  chain(credentials.readSetting(CANARY))
    .andThen((stored) =>
      stored === undefined
        ? okAsync(true)
        : chain(credentials.replaceSetting(CANARY, stored, canaryOf(crypto))),
    )
    .map(() => undefined)

/**
 * Tells which key belongs to the storage: the master key, one of the other keys, or none. Every
 * master key matches an empty storage.
 */
export async function matchingKey(
  { credentials }: Settings,
  crypto: Crypto,
): Stored<'master key' | 'other key' | 'none'> {
  const stored = await credentials.readSetting(CANARY)
  if (!stored.ok) return stored
  const { value } = stored
  if (value === undefined || crypto.equal(value, canaryOf(crypto))) return success('master key')
  return success(problemOf(value, crypto) === undefined ? 'other key' : 'none')
}

const problemOf = (stored: string | undefined, crypto: Crypto): string | undefined =>
  stored === undefined || crypto.isMac(CANARY, 'v1', stored) ? undefined : MISMATCH

const canaryOf = (crypto: Crypto): string => crypto.mac(CANARY, 'v1')
