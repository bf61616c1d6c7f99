import { WebhookVerificationError } from './verification-error.js'

/** A webhook's secret, or several during a rotation. An unset variable is `undefined`. */
export type Secret = string | readonly string[] | undefined

const PREFIX = 'whsec_'

/** @throws WebhookVerificationError if a secret is missing or malformed */
export function keysIn(secret: Secret): Uint8Array<ArrayBuffer>[] {
  const given = typeof secret === 'string' ? [secret] : (secret ?? [])
  if (given.length === 0 || given.includes('')) throw new WebhookVerificationError('SECRET_MISSING')
  return given.map(keyIn)
}

export function keyIn(secret: string): Uint8Array<ArrayBuffer> {
  const bytes = secret.startsWith(PREFIX) ? bytesOf(secret.slice(PREFIX.length)) : undefined
  if (!bytes || bytes.length === 0) throw new WebhookVerificationError('SECRET_INVALID')
  return bytes
}

export function bytesOf(base64: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0))
  } catch {
    return undefined
  }
}
