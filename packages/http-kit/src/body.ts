import type { Json } from '@org/agent-messaging-core'
import { parseJsonText } from '@org/agent-messaging-core/runtime'
import { Caller, type Asking } from './caller.js'
import { refusal, type RequestError } from './errors.js'

/**
 * Reads the body, up to the limit. A body whose `Content-Length` is too large is not read at all.
 */
export async function readBytes(c: Asking, maxBytes: number): Promise<Uint8Array | RequestError> {
  const { req } = c
  const tooLarge = { kind: 'body_too_large', maxBytes } as const
  if (Number(req.header('content-length')) > maxBytes) return tooLarge
  /** A middleware of the host has read the body, and Hono keeps it. */
  const isCached = Object.keys(req.bodyCache).length > 0
  const hasLength =
    Number(req.header('content-length')) >= 0 && req.header('transfer-encoding') === undefined
  if (req.raw.bodyUsed && !isCached) return unreadable(c, true)
  try {
    const bytes =
      isCached || hasLength
        ? new Uint8Array(await req.arrayBuffer())
        : await readUpTo(req.raw.body, maxBytes)
    return bytes === undefined || bytes.length > maxBytes ? tooLarge : bytes
  } catch (error) {
    // A TypeError means that other code has read the body. Any other error means that the sender
    // left.
    return unreadable(c, error instanceof TypeError)
  }
}

const decoder = new TextDecoder('utf-8', { fatal: true })

/**
 * Reads the body as JSON, up to the limits. The value is undefined for a body that is no such JSON,
 * is not in UTF-8, or ended early because the caller left. Refuses any other body.
 */
export async function readJson(
  c: Asking,
  maxBytes: number,
  limits?: Parameters<typeof parseJsonText>[1],
): Promise<Json | undefined> {
  const bytes = await readBytes(c, maxBytes)
  if (!(bytes instanceof Uint8Array))
    return bytes.kind === 'body_malformed' ? undefined : refusal(bytes)
  try {
    return parseJsonText(decoder.decode(bytes), limits)
  } catch {
    return undefined
  }
}

const unreadable = (c: Asking, isRead: boolean): RequestError =>
  isRead && !new Caller(c).aborted
    ? { kind: 'body_consumed' }
    : { kind: 'body_malformed', reason: 'ended early' }

/** Returns undefined if the body is longer. */
async function readUpTo(
  body: ReadableStream<Uint8Array> | null,
  maxBytes: number,
): Promise<Uint8Array | undefined> {
  const reader = body?.getReader()
  const chunks: Uint8Array[] = []
  let length = 0
  for (let next = await reader?.read(); next?.value; next = await reader?.read()) {
    chunks.push(next.value)
    length += next.value.length
    if (length > maxBytes) {
      await reader?.cancel()
      return undefined
    }
  }
  return joined(chunks, length)
}

function joined(chunks: readonly Uint8Array[], length: number): Uint8Array {
  const bytes = new Uint8Array(length)
  let at = 0
  for (const chunk of chunks) {
    bytes.set(chunk, at)
    at += chunk.length
  }
  return bytes
}
