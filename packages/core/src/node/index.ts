import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  createSecretKey,
  hash,
  hkdfSync,
  randomBytes,
  timingSafeEqual,
  type KeyObject,
} from 'node:crypto'
import { setMaxListeners } from 'node:events'
import path from 'node:path'
import type { Sealed } from '../domain/values/sealed.js'
import type { Clock, Crypto, Ids, Random } from '../ports/platform.js'
import type { Telemetry } from '../ports/telemetry.js'
import { remembered } from './remembered.js'
import { stderrTelemetry } from './stderr-telemetry.js'
import { uuidV7 } from './uuid-v7.js'

export type NodePlatform = {
  readonly clock: Clock
  readonly random: Random
  readonly ids: Ids
  readonly crypto: Crypto
  /** Writes failures to stderr, one line each, with ids and kinds of errors. */
  readonly telemetry: Telemetry
}

export type MasterKeys = {
  /** 32 bytes that encrypt secrets and sign run tokens. Without the key, both are lost. */
  readonly masterKey: Uint8Array
  /** Other keys that can still decrypt, while one key replaces another. */
  readonly otherMasterKeys?: readonly Uint8Array[] | undefined
}

/** Clock, Random, Ids, Crypto and Telemetry on Node. */
export const nodePlatform = ({ masterKey, otherMasterKeys }: MasterKeys): NodePlatform => ({
  clock: systemClock,
  random: { next: () => Math.random() },
  ids: uuidV7(),
  crypto: nodeCrypto(masterKey, otherMasterKeys),
  telemetry: stderrTelemetry(systemClock),
})

export const systemClock: Clock = {
  now: () => Date.now(),
  elapsed: () => performance.now(),
  // Not `timers/promises`, which creates an error per abort. That costs more than the timer.
  sleep: (ms, signal) =>
    new Promise((resolve) => {
      if (signal?.aborted) return resolve()
      // Many can sleep until one signal. Node 22 warns of a leak at the eleventh.
      if (signal) setMaxListeners(0, signal)
      const timer = setTimeout(wake, Math.max(0, Math.min(ms, MAX_TIMER_MS)))
      signal?.addEventListener('abort', wake)
      function wake(): void {
        clearTimeout(timer)
        signal?.removeEventListener('abort', wake)
        resolve()
      }
    }),
}

/** Tells the operator that the disk of this file has no space left. */
export const fullDiskOf = (file: string): string =>
  `the disk of ${path.dirname(path.resolve(file))} is full; free some space on it.`

/** Node fires a longer timer at once. */
const MAX_TIMER_MS = 2 ** 31 - 1
const MASTER_KEY_BYTES = 32
const IV_BYTES = 12
const TAG_BYTES = 16

/** AES-256-GCM, HMAC and SHA-256 of node:crypto. */
export function nodeCrypto(
  masterKey: Uint8Array,
  otherMasterKeys: readonly Uint8Array[] = [],
): Crypto {
  const own = derivedKeys(masterKey)
  const all = [own, ...otherMasterKeys.map(derivedKeys)]
  const macOf = ({ macKey }: DerivedKeys, purpose: string, data: string): string =>
    createHmac('sha256', macKey).update(`${purpose}\0${data}`).digest('base64url')
  const unsealed = (sealed: Sealed, context: string): string | undefined => {
    for (const { sealKey } of all) {
      const plain = unseal(sealKey, sealed, context)
      if (plain !== undefined) return plain
    }
    return undefined
  }
  return {
    randomBytes: (length) => randomBytes(length),
    sha256,
    hmacSha256: (key, data, encoding) =>
      createHmac('sha256', hmacKey(key)).update(data).digest(encoding),
    mac: (purpose, data) => macOf(own, purpose, data),
    isMac: (purpose, data, code) => all.some((keys) => equal(code, macOf(keys, purpose, data))),
    equal,
    seal: (plain, context) => seal(own.sealKey, plain, context),
    // Every delivery needs the same secrets. Decrypting one costs as much as two signatures.
    unseal: remembered(unsealed),
    reseal: (sealed, context) => {
      if (unseal(own.sealKey, sealed, context) !== undefined) return sealed
      const plain = unsealed(sealed, context)
      return plain === undefined ? undefined : seal(own.sealKey, plain, context)
    },
  }
}

type DerivedKeys = { readonly sealKey: Buffer; readonly macKey: KeyObject }

function derivedKeys(masterKey: Uint8Array): DerivedKeys {
  if (masterKey.length !== MASTER_KEY_BYTES)
    throw new RangeError(
      `the master key has ${masterKey.length} bytes; it takes ${MASTER_KEY_BYTES}`,
    )
  return {
    sealKey: deriveKey(masterKey, 'seal'),
    macKey: createSecretKey(deriveKey(masterKey, 'mac')),
  }
}

/**
 * Compares digests: they have one length, so timingSafeEqual cannot throw and the secret's length
 * stays hidden.
 */
const equal = (a: string, b: string): boolean =>
  timingSafeEqual(Buffer.from(sha256(a)), Buffer.from(sha256(b)))

const sha256 = (data: string): string => hash('sha256', data)

/** Node 24 makes and catches an error for bytes that are no KeyObject. That takes twice as long as a signature. */
const hmacKey = (key: string | Uint8Array): string | KeyObject =>
  typeof key === 'string' ? key : createSecretKey(key)

const deriveKey = (masterKey: Uint8Array, purpose: string): Buffer =>
  Buffer.from(hkdfSync('sha256', masterKey, '', `agent-messaging ${purpose}`, 32))

function seal(key: Buffer, plain: string, context: string): Sealed {
  const iv = randomBytes(IV_BYTES)
  const cipher = createCipheriv('aes-256-gcm', key, iv, { authTagLength: TAG_BYTES }).setAAD(
    Buffer.from(context),
  )
  const encrypted = Buffer.concat([cipher.update(plain, 'utf8'), cipher.final()])
  return `v1.${Buffer.concat([iv, cipher.getAuthTag(), encrypted]).toString('base64url')}` as Sealed
}

function unseal(key: Buffer, sealed: Sealed, context: string): string | undefined {
  const [version, encoded] = sealed.split('.')
  const bytes = Buffer.from(encoded ?? '', 'base64url')
  if (version !== 'v1' || bytes.length < IV_BYTES + TAG_BYTES) return undefined
  const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, IV_BYTES), {
    authTagLength: TAG_BYTES,
  })
  decipher.setAAD(Buffer.from(context)).setAuthTag(bytes.subarray(IV_BYTES, IV_BYTES + TAG_BYTES))
  try {
    return (
      decipher.update(bytes.subarray(IV_BYTES + TAG_BYTES), undefined, 'utf8') +
      decipher.final('utf8')
    )
  } catch {
    return undefined
  }
}
