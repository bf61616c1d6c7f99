import { WebhookVerificationError } from './verification-error.js'

/** More than the service ever sends: an answer of a million characters has six million bytes as JSON, at most. */
const MAX_BODY_BYTES = 8 * 1024 * 1024
const NOTHING = new Uint8Array(0)
const encoder = new TextEncoder()

/**
 * A body that anybody may have sent, before it is verified: no more than `maxBytes` of it are ever held, in one piece, and nothing is read
 * when its `content-length` says that it has more.
 * @throws WebhookVerificationError for one that is longer; and what reading throws when its sender leaves in the middle of it
 */
export async function readBody(
  body: AsyncIterable<Uint8Array | string>,
  contentLength: number,
  maxBytes = MAX_BODY_BYTES,
): Promise<Uint8Array> {
  let bytes: Uint8Array = NOTHING
  let length = 0
  if (contentLength > maxBytes) throw new WebhookVerificationError('BODY_TOO_LONG')
  for await (const piece of body) {
    const chunk = typeof piece === 'string' ? encoder.encode(piece) : piece
    // Read to its end all the same: Node would take the connection away from under the answer.
    bytes =
      length + chunk.length > maxBytes ? NOTHING : withRoom(bytes, length + chunk.length, maxBytes)
    if (bytes !== NOTHING) bytes.set(chunk, length)
    length += chunk.length
  }
  if (length > maxBytes) throw new WebhookVerificationError('BODY_TOO_LONG')
  return bytes.subarray(0, length)
}

/** At least twice as large as before: a body of one-byte pieces is copied a few times, and not once for each. */
function withRoom(bytes: Uint8Array, length: number, maxBytes: number): Uint8Array {
  if (length <= bytes.length) return bytes
  const larger = new Uint8Array(Math.min(maxBytes, Math.max(length, 2 * bytes.length)))
  larger.set(bytes)
  return larger
}
