import type { Instant } from '../domain/instant.js'
import type { Reseal, Sealed } from '../domain/sealed.js'

/** Time. The domain never reads it: `now` is handed in. */
export interface Clock {
  now(): Instant
  /** Ends after `ms`, or early when `signal` aborts; never rejects. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>
}

/** Jitter, in [0, 1). */
export interface Random {
  next(): number
}

/** UUIDv7 in lower case, growing within the process. */
export interface Ids {
  next(): string
}

/**
 * Synchronous on purpose: signing is the hot path, and WebCrypto costs ten times what node:crypto does.
 * `seal` and `mac` use the service's master key; what another key made is still opened and known, if the service was given that one too.
 */
export interface Crypto {
  randomBytes(length: number): Uint8Array
  /** Lower-case hex. */
  sha256(data: string): string
  hmacSha256(key: string | Uint8Array, data: string, encoding: 'hex' | 'base64'): string
  /** A code that only holders of the master key can make. `purpose` separates uses; base64url. */
  mac(purpose: string, data: string): string
  /** Whether `code` is the `mac` of it, by any of the keys. */
  isMac(purpose: string, data: string, code: string): boolean
  /** Whether two texts are equal, in a time that does not tell where they differ. */
  equal(a: string, b: string): boolean
  /** Encrypts and authenticates `plain`, bound to `context` (the row that it belongs to). */
  seal(plain: string, context: string): Sealed
  /** Undefined when none of the keys or not this context is the one it was sealed with, or when it was altered. */
  unseal(sealed: Sealed, context: string): string | undefined
  /** Itself when it is sealed with the master key. */
  readonly reseal: Reseal
}
