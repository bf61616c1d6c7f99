import type { Instant } from './instant.js'

const STANDARD_PREFIX = 'whsec_'
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/
const SECRET_BYTES = 32
const MIN_SECRET_BYTES = 24
const MAX_SECRET_BYTES = 64

/** HMAC SHA-256 of the UTF-8 of `data`; a key given as text counts as its UTF-8. */
export type Hmac = (key: string | Uint8Array, data: string, encoding: 'hex' | 'base64') => string
export type RandomBytes = (length: number) => Uint8Array

/** `whsec_` and base64 of 32 random bytes, the form of Standard Webhooks. */
export const newSecret = (randomBytes: RandomBytes): string =>
  STANDARD_PREFIX + btoa(String.fromCharCode(...randomBytes(SECRET_BYTES)))

/** Whether a caller's own secret has that form, with 24 to 64 bytes. */
export function isSecret(text: string): boolean {
  const encoded = text.slice(STANDARD_PREFIX.length)
  if (!text.startsWith(STANDARD_PREFIX) || !BASE64.test(encoded)) return false
  const bytes = fromBase64(encoded).length
  return bytes >= MIN_SECRET_BYTES && bytes <= MAX_SECRET_BYTES
}

export type SignedRequest = {
  /** The delivery id for a webhook, the run's id for a runtime request. */
  readonly id: string
  readonly event: string
  readonly body: string
  readonly secret: string
  /** During a rotation: the secret that comes after it. Only the Standard Webhooks header can carry both signatures. */
  readonly nextSecret?: string | undefined
  readonly at: Instant
  /** `X-Service` unless the operator chose another. */
  readonly headerPrefix: string
}

/**
 * The three headers of S§6, keyed with the secret's characters as the customer sees them, and beside them the three of
 * Standard Webhooks, keyed with the secret's decoded bytes and bound to id and time, so that stock verifiers work.
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

/** A loop, for each delivery is signed: `Uint8Array.from` takes ten times as long. */
function fromBase64(text: string): Uint8Array {
  const characters = atob(text)
  const bytes = new Uint8Array(characters.length)
  for (let at = 0; at < bytes.length; at++) bytes[at] = characters.charCodeAt(at)
  return bytes
}
