import type { Rule } from '../values/input-rules.js'
import type { Instant } from '../values/instant.js'

const STANDARD_PREFIX = 'whsec_'
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/
const SECRET_BYTES = 32
const MIN_SECRET_BYTES = 24
const MAX_SECRET_BYTES = 64

/** HMAC SHA-256 of the UTF-8 of `data`. A text key counts as its UTF-8. */
export type Hmac = (key: string | Uint8Array, data: string, encoding: 'hex' | 'base64') => string
export type RandomBytes = (length: number) => Uint8Array

/** Returns `whsec_` and the base64 of 32 random bytes, the form of Standard Webhooks. */
export const newSecret = (randomBytes: RandomBytes): string =>
  STANDARD_PREFIX + btoa(String.fromCharCode(...randomBytes(SECRET_BYTES)))

/** Returns true if a caller's secret has that form, with 24 to 64 bytes. */
export function isSecret(text: string): boolean {
  const encoded = text.slice(STANDARD_PREFIX.length)
  if (!text.startsWith(STANDARD_PREFIX) || !BASE64.test(encoded)) return false
  const bytes = fromBase64(encoded).length
  return bytes >= MIN_SECRET_BYTES && bytes <= MAX_SECRET_BYTES
}

export const secretRule = (secret: unknown): Rule =>
  secret === undefined || (typeof secret === 'string' && isSecret(secret))
    ? undefined
    : 'must be whsec_ followed by base64 of 24 to 64 bytes'

export type SignedRequest = {
  /** The delivery id for a webhook, or the run's id for a runtime request. */
  readonly id: string
  readonly event: string
  readonly body: string
  readonly secret: string
  /**
   * The next secret during a rotation. Only the Standard Webhooks header can carry both
   * signatures.
   */
  readonly nextSecret?: string | undefined
  readonly at: Instant
  /** `X-Service`, or the operator's prefix. */
  readonly headerPrefix: string
}

/**
 * Returns the three headers with the prefix, keyed with the secret's characters, and the three of
 * Standard Webhooks, keyed with the secret's decoded bytes and bound to id and time. So stock
 * verifiers work.
 */
export function signatureHeaders(
  hmac: Hmac,
  { id, event, body, secret, nextSecret, at, headerPrefix }: SignedRequest,
): Record<string, string> {
  const timestamp = String(Math.floor(at / 1000))
  const standard = (of: string): string =>
    `v1,${hmac(fromBase64(of.slice(STANDARD_PREFIX.length)), `${id}.${timestamp}.${body}`, 'base64')}`
  return {
    [`${headerPrefix}-Delivery`]: id,
    [`${headerPrefix}-Event`]: event,
    [`${headerPrefix}-Signature`]: `sha256=${hmac(secret, body, 'hex')}`,
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature':
      nextSecret === undefined ? standard(secret) : `${standard(nextSecret)} ${standard(secret)}`,
  }
}

/**
 * Decodes in a loop, because every delivery is signed: `Uint8Array.from` takes ten times as long.
 */
function fromBase64(text: string): Uint8Array {
  const characters = atob(text)
  const bytes = new Uint8Array(characters.length)
  for (let at = 0; at < bytes.length; at++) bytes[at] = characters.charCodeAt(at)
  return bytes
}
