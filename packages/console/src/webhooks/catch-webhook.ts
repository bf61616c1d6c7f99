import { createHmac, timingSafeEqual } from 'node:crypto'
import { verify } from '@org/agent-messaging-client/webhooks'

/** `unchecked` if the receiver has no secret. */
export type SignatureCheck = 'valid' | 'invalid' | 'unsigned' | 'unchecked' | 'too long'

export type CaughtWebhook = {
  /** `(none)` if no header has it. */
  readonly event: string
  /** Empty if no header has it. */
  readonly deliveryId: string
  readonly signature: SignatureCheck
  /** Empty if the body is too long. */
  readonly body: string
}

/** Larger than any delivery: an answer of a million characters has at most 6 MB as JSON. */
const MAX_BODY_BYTES = 8 * 1024 * 1024

/** Reads a request to a receiver for tests, and checks its signatures as every receiver should. */
export async function catchWebhook(
  { headers, body }: Request,
  secret: string | undefined,
  now: () => number = Date.now,
): Promise<CaughtWebhook> {
  const bytes = await bytesOf(body)
  return {
    // The operator of the sender chooses the prefix.
    event: [...headers].find(([name]) => name.endsWith('-event'))?.[1] || '(none)',
    deliveryId: headers.get('webhook-id') ?? '',
    signature: bytes ? await check(headers, bytes, secret, now) : 'too long',
    body: bytes?.toString() ?? '',
  }
}

/** Undefined if the body is too long. Reads it to the end, so that the sender gets the response. */
async function bytesOf(body: Request['body']) {
  const chunks: Uint8Array[] = []
  let length = 0
  for await (const chunk of body ?? []) {
    length += chunk.length
    if (length <= MAX_BODY_BYTES) chunks.push(chunk)
    else chunks.length = 0
  }
  return length <= MAX_BODY_BYTES ? Buffer.concat(chunks) : undefined
}

async function check(
  headers: Headers,
  body: Buffer,
  secret: string | undefined,
  now: () => number,
): Promise<SignatureCheck> {
  if (secret === undefined) return 'unchecked'
  const standard = headers.get('webhook-signature')
  if (standard === null && plainSignatureIn(headers) === undefined) return 'unsigned'
  // During a rotation, only the old secret makes the plain signature, and there are two others.
  const isPlain = standard?.includes(' ') || hasPlainSignature(headers, body, secret)
  const isGenuine = await verify(body, headers, secret, { now }).then(
    () => true,
    () => false,
  )
  return isPlain && isGenuine ? 'valid' : 'invalid'
}

const plainSignatureIn = (headers: Headers) =>
  [...headers].find(
    ([name, value]) => name.endsWith('-signature') && value.startsWith('sha256='),
  )?.[1]

/** Checks the signature over the body alone. Its key is the text of the secret. */
export function hasPlainSignature(headers: Headers, body: Uint8Array, secret: string) {
  const given = Buffer.from(plainSignatureIn(headers) ?? '')
  const expected = Buffer.from(`sha256=${createHmac('sha256', secret).update(body).digest('hex')}`)
  return given.length === expected.length && timingSafeEqual(given, expected)
}
