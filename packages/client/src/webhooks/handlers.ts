import { checked, receive, type ReceiverOptions } from './receive.js'
import { WebhookVerificationError } from './verification-error.js'

/**
 * Creates a handler for hosts with Request and Response: Hono, Next.js, Workers, Deno, Bun.
 * @throws WebhookVerificationError if the secret is missing or malformed
 */
export function webhookHandler(options: ReceiverOptions): (request: Request) => Promise<Response> {
  const settings = checked(options)
  return async (request) => {
    const length = Number(request.headers.get('content-length'))
    const read = () =>
      request.bodyUsed ? undefined : readBody(piecesOf(request), length, settings.maxBodyBytes)
    const { status, body } = await receive(settings, read, request.headers)
    return new Response(body, { status })
  }
}

/** The used fields of Node's `IncomingMessage`, and the fields that Express and other hosts add. */
export type NodeRequest = AsyncIterable<Uint8Array | string> & {
  readonly headers: { readonly [name: string]: string | string[] | undefined }
  /** Set by a body parser. `express.raw()` keeps the bytes. `express.json()` loses them. */
  readonly body?: unknown
  /** Some hosts keep the bytes here, besides the parsed body. */
  readonly rawBody?: unknown
}
export type NodeResponse = { statusCode: number; end(body?: string): unknown }

/**
 * Creates a handler for `node:http`, Express and Connect.
 * @throws WebhookVerificationError if the secret is missing or malformed
 */
export function nodeWebhookHandler(
  options: ReceiverOptions,
): (request: NodeRequest, response: NodeResponse) => Promise<void> {
  const settings = checked(options)
  return async (request, response) => {
    const length = Number(request.headers['content-length'])
    const read = () =>
      request.rawBody ?? request.body ?? readBody(request, length, settings.maxBodyBytes)
    const { status, body } = await receive(settings, read, request.headers)
    response.statusCode = status
    response.end(body)
  }
}

/** Reads with a reader, because not every host's streams are iterable. */
async function* piecesOf({ body }: Request): AsyncGenerator<Uint8Array> {
  const reader = body?.getReader()
  for (let next = await reader?.read(); next?.value; next = await reader?.read()) yield next.value
}

/** More than the service sends: an answer of a million characters is at most 6 MB as JSON. */
const MAX_BODY_BYTES = 8 * 1024 * 1024
const EMPTY = new Uint8Array(0)
const encoder = new TextEncoder()

/**
 * Reads a body that is not verified yet. Keeps at most `maxBytes` in memory, and reads nothing if
 * `content-length` is larger.
 * @throws WebhookVerificationError if the body is longer. A read error is thrown as it is
 */
async function readBody(
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
function withRoom(bytes: Uint8Array, length: number, maxBytes: number) {
  if (length <= bytes.length) return bytes
  const larger = new Uint8Array(Math.min(maxBytes, Math.max(length, 2 * bytes.length)))
  larger.set(bytes)
  return larger
}
