import type { PublishedEvent, WebhookEvent } from './events.js'
import { bytesOf, keyIn, keysIn, type Secret } from './secrets.js'
import { WebhookVerificationError } from './verification-error.js'

/** Headers as frameworks pass them: names in any case, values joined or in a list. */
export type HeadersLike =
  | Headers
  | { readonly [name: string]: string | readonly string[] | undefined }

export type VerifyOptions = {
  /** The maximum difference between the signing time and now. The default is 300 s. */
  readonly toleranceSeconds?: number
  /** Milliseconds since 1970. The default is the machine's clock. */
  readonly now?: () => number
}

export type Delivery = {
  /** The same for every attempt, so it identifies duplicates. */
  readonly deliveryId: string
  /** When this attempt was signed, in milliseconds since 1970. */
  readonly signedAt: number
  /** `isServiceEvent` tells which of both it is. */
  readonly event: WebhookEvent | PublishedEvent
}

const TOLERANCE_SECONDS = 300
/** Keeps a byte order mark: the service did not sign one, so the signature must not match. */
const decoder = new TextDecoder('utf-8', { ignoreBOM: true })

/**
 * Checks that a request comes from the service, unchanged and recent (Standard Webhooks). Returns
 * its event.
 * @param rawBody the body as received, before any parser
 * @param secret the webhook's secret, or several during a rotation
 * @throws WebhookVerificationError
 */
export async function verify(
  rawBody: string | Uint8Array | ArrayBuffer,
  headers: HeadersLike,
  secret: Secret,
  { toleranceSeconds = TOLERANCE_SECONDS, now = Date.now }: VerifyOptions = {},
): Promise<Delivery> {
  const body = textOf(rawBody)
  const deliveryId = headerOf(headers, 'webhook-id')
  const timestamp = headerOf(headers, 'webhook-timestamp')
  const signatures = headerOf(headers, 'webhook-signature')
  if (!deliveryId || !timestamp || !signatures)
    throw new WebhookVerificationError('HEADERS_MISSING')
  const signedAt = Number(timestamp) * 1000
  if (!(Math.abs(now() - signedAt) <= toleranceSeconds * 1000))
    throw new WebhookVerificationError('TIMESTAMP_TOO_FAR')

  const signed = new TextEncoder().encode(`${deliveryId}.${timestamp}.${body}`)
  const expected = await Promise.all(keysIn(secret).map((key) => hmac(key, signed)))
  const given = signatures
    .split(' ')
    .flatMap((entry) => (entry.startsWith('v1,') ? (bytesOf(entry.slice(3)) ?? []) : []))
  if (!anyEqual(expected, given)) throw new WebhookVerificationError('SIGNATURE_MISMATCH')
  return { deliveryId, signedAt, event: eventOf(body) }
}

/**
 * Compares all pairs in constant time. The body is signed once for each secret, not for each given
 * signature, because a request can contain thousands of signatures.
 */
function anyEqual(expected: readonly Uint8Array[], given: readonly Uint8Array[]) {
  return expected.flatMap((one) => given.map((other) => isEqual(one, other))).includes(true)
}

function isEqual(expected: Uint8Array, given: Uint8Array) {
  let difference = expected.length ^ given.length
  for (const [at, byte] of expected.entries()) difference |= byte ^ (given[at] ?? 0)
  return difference === 0
}

/** Rejects a parsed body, and the text that results from one. */
function textOf(rawBody: unknown) {
  if (typeof rawBody === 'string' && rawBody !== '[object Object]') return rawBody
  if (rawBody instanceof Uint8Array || rawBody instanceof ArrayBuffer)
    return decoder.decode(rawBody)
  throw new WebhookVerificationError('BODY_ALREADY_PARSED')
}

function headerOf(headers: HeadersLike, name: string): string | undefined {
  if (headers instanceof Headers) return headers.get(name) ?? undefined
  const key = Object.keys(headers).find((key) => key.toLowerCase() === name)
  const value = key === undefined ? undefined : headers[key]
  return typeof value === 'string' ? value : value?.[0]
}

/** Returns the HMAC-SHA256. */
async function hmac(
  key: Uint8Array<ArrayBuffer>,
  data: Uint8Array<ArrayBuffer>,
): Promise<Uint8Array> {
  const algorithm = { name: 'HMAC', hash: 'SHA-256' }
  const imported = await crypto.subtle.importKey('raw', key, algorithm, false, ['sign'])
  return new Uint8Array(await crypto.subtle.sign('HMAC', imported, data))
}

function eventOf(body: string) {
  const event: unknown = parse(body)
  const isEvent =
    typeof event === 'object' &&
    event !== null &&
    'event' in event &&
    'data' in event &&
    typeof event.event === 'string'
  if (!isEvent) throw new WebhookVerificationError('BODY_NOT_AN_EVENT')
  return event as WebhookEvent | PublishedEvent
}

function parse(body: string): unknown {
  try {
    return JSON.parse(body)
  } catch {
    return undefined
  }
}

const encoder = new TextEncoder()

export type SignedTestEvent = { readonly body: string; readonly headers: Record<string, string> }

/** Signs a request like the service does, for tests of your receiver. */
export async function signTestEvent(
  event: WebhookEvent | PublishedEvent,
  secret: string,
  {
    deliveryId = crypto.randomUUID(),
    now = Date.now(),
  }: { readonly deliveryId?: string; readonly now?: number } = {},
): Promise<SignedTestEvent> {
  const body = JSON.stringify(event)
  const timestamp = String(Math.floor(now / 1000))
  const standard = await hmac(keyIn(secret), encoder.encode(`${deliveryId}.${timestamp}.${body}`))
  const plain = await hmac(encoder.encode(secret), encoder.encode(body))
  return {
    body,
    headers: {
      'content-type': 'application/json',
      'X-Service-Delivery': deliveryId,
      'X-Service-Event': event.event,
      'X-Service-Signature': `sha256=${hex(plain)}`,
      'webhook-id': deliveryId,
      'webhook-timestamp': timestamp,
      'webhook-signature': `v1,${btoa(String.fromCharCode(...standard))}`,
    },
  }
}

const hex = (bytes: Uint8Array) =>
  [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('')
