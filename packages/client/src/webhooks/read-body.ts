import { WebhookVerificationError } from './verification-error.js'

/** More than the service sends: an answer of a million characters is at most 6 MB as JSON. */
const MAX_BODY_BYTES = 8 * 1024 * 1024
const EMPTY = new Uint8Array(0)
const encoder = new TextEncoder()

/**
 * Reads a body that is not verified yet. Keeps at most `maxBytes` in memory, and reads nothing if
 * `content-length` is larger.
 * @throws WebhookVerificationError if the body is longer. A read error is thrown as it is
 */
export async function readBody(
  body: AsyncIterable<Uint8Array | string>,
  contentLength: number,
  maxBytes = MAX_BODY_BYTES,
): Promise<Uint8Array> {
  let bytes: Uint8Array = EMPTY
  let length = 0
  if (contentLength > maxBytes) throw new WebhookVerificationError('BODY_TOO_LONG')
  for await (const piece of body) {
    const chunk = typeof piece === 'string' ? encoder.encode(piece) : piece
    // Reads to the end in any case. Otherwise Node would close the connection before the response.
    bytes =
      length + chunk.length > maxBytes ? EMPTY : withRoom(bytes, length + chunk.length, maxBytes)
    if (bytes !== EMPTY) bytes.set(chunk, length)
    length += chunk.length
  }
  if (length > maxBytes) throw new WebhookVerificationError('BODY_TOO_LONG')
  return bytes.subarray(0, length)
}

/** At least doubles the size, so that a body of one-byte pieces is not copied for each piece. */
function withRoom(bytes: Uint8Array, length: number, maxBytes: number): Uint8Array {
  if (length <= bytes.length) return bytes
  const larger = new Uint8Array(Math.min(maxBytes, Math.max(length, 2 * bytes.length)))
  larger.set(bytes)
  return larger
}
