import type { WebhookEvent } from './events.js'
import { bytesOf, keysIn, type Secret } from './secrets.js'
import { WebhookVerificationError } from './verification-error.js'

/** As frameworks hand headers over: names in any case, values joined or in a list. */
export type HeadersLike =
  | Headers
  | { readonly [name: string]: string | readonly string[] | undefined }

export type VerifyOptions = {
  /** How old, or how far in the future, a request may be; 300 s unless given. */
  readonly toleranceSeconds?: number
  /** ms since 1970; the machine's clock unless given. */
  readonly now?: () => number
}

export type Delivery = {
  /** The same for every attempt: what to know duplicates by. */
  readonly deliveryId: string
  /** When this attempt was signed, ms since 1970. */
  readonly signedAt: number
  readonly event: WebhookEvent
}

const TOLERANCE_SECONDS = 300
/** A byte order mark is as good as any other byte that nobody signed. */
const decoder = new TextDecoder('utf-8', { ignoreBOM: true })

/**
 * Checks that a request comes from the service, unchanged and fresh (Standard Webhooks), and gives its event.
 * @param rawBody the body as it came, before any parser
 * @param secret the webhook's secret, or several while one is being rotated
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
  if (!anyFits(expected, given)) throw new WebhookVerificationError('SIGNATURE_MISMATCH')
  return { deliveryId, signedAt, event: eventOf(body) }
}

/**
 * All pairs, in a time that does not tell which one it was, nor where they differ. The body is signed once for each secret and not once for
 * each signature: a header of anybody's has room for thousands.
 */
function anyFits(expected: readonly Uint8Array[], given: readonly Uint8Array[]): boolean {
  const fits = expected.flatMap((one) => given.map((other) => isEqual(one, other)))
  return fits.includes(true)
}

function isEqual(expected: Uint8Array, given: Uint8Array): boolean {
  let difference = expected.length ^ given.length
  for (const [at, byte] of expected.entries()) difference |= byte ^ (given[at] ?? 0)
  return difference === 0
}

/** The form that frameworks give a body which they have parsed is told from bytes and text, or from the text that comes of it. */
function textOf(rawBody: unknown): string {
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

/** HMAC SHA-256. */
export async function hmac(
  key: Uint8Array<ArrayBuffer>,
  data: Uint8Array<ArrayBuffer>,
): Promise<Uint8Array> {
  const imported = await crypto.subtle.importKey(
    'raw',
    key,
    { name: 'HMAC', hash: 'SHA-256' },
    false,
    ['sign'],
  )
  return new Uint8Array(await crypto.subtle.sign('HMAC', imported, data))
}

function eventOf(body: string): WebhookEvent {
  const event: unknown = parse(body)
  const isEvent =
    typeof event === 'object' &&
    event !== null &&
    'event' in event &&
    'data' in event &&
    typeof event.event === 'string'
  if (!isEvent) throw new WebhookVerificationError('BODY_NOT_AN_EVENT')
  return event as WebhookEvent
}

function parse(body: string): unknown {
  try {
    return JSON.parse(body)
  } catch {
    return undefined
  }
}
