import type { Instant } from '../domain/values/instant.js'
import type { Reseal, Sealed } from '../domain/values/sealed.js'

/** Time. The domain never reads the clock: `now` is an argument. */
export interface Clock {
  /** The time of day, for everything that is stored, signed or shown. It can jump. */
  now(): Instant
  /**
   * Milliseconds since any moment, for deadlines within this process. They never jump and never go
   * back.
   */
  elapsed(): number
  /** Resolves after `ms`, or earlier when `signal` aborts. Never rejects. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>
}

/** Jitter, in [0, 1). */
export interface Random {
  next(): number
}

/** UUIDv7 in lower case. Later ids of a process are greater. */
export interface Ids {
  next(): string
}

/**
 * Cryptography. It is synchronous because signing is the hot path, and WebCrypto costs ten times
 * as much as node:crypto. `seal` and `mac` use the master key. `unseal` and `isMac` also accept
 * the other master keys that the service was given.
 */
export interface Crypto {
  randomBytes(length: number): Uint8Array
  /** Returns lower-case hex. */
  sha256(data: string): string
  hmacSha256(key: string | Uint8Array, data: string, encoding: 'hex' | 'base64'): string
  /** Returns a code, as base64url, that needs the master key. `purpose` separates uses. */
  mac(purpose: string, data: string): string
  /** Returns true if `code` is the `mac` of the data with any of the keys. */
  isMac(purpose: string, data: string, code: string): boolean
  /** Compares two texts in a time that does not depend on where they differ. */
  equal(a: string, b: string): boolean
  /** Encrypts and authenticates `plain`, bound to `context`, which names its row. */
  seal(plain: string, context: string): Sealed
  /** Decrypts. Returns undefined if no key or another context was used, or the text was altered. */
  unseal(sealed: Sealed, context: string): string | undefined
  /** Returns the same text if the master key sealed it. */
  readonly reseal: Reseal
}
