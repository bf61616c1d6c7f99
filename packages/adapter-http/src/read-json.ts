import type { Context, MiddlewareHandler, Next } from 'hono'
import { noted } from './document/describe-route.js'
import { refuse, type HttpError } from './errors.js'
import type { Env } from './env.js'
import { isNestedDeeper } from './json-depth.js'

const MAX_DEPTH = 32
const BYTE_ORDER_MARK = 0xfeff
const refusals = [
  'media_type_unsupported',
  'body_too_large',
  'body_malformed',
  'body_consumed',
] as const
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/**
 * Reads the body as JSON text, bounded in bytes and in depth, for the validator that comes next. Where the sender says
 * how long the body is, nothing is read of one that is too long; else reading stops at the limit.
 */
export function readJson(maxBytes: number): MiddlewareHandler<Env> {
  return noted(read, { errors: refusals })

  async function read(c: Context<Env>, next: Next) {
    const refused = headerProblem(c, maxBytes)
    if (refused) return refuse(c, refused)
    const held = { ...c.req.bodyCache }
    const text = await readText(c, maxBytes)
    if (typeof text !== 'string') return refuse(c, text)
    if (isNestedDeeper(text, MAX_DEPTH))
      return refuse(c, { kind: 'body_malformed', reason: `is nested more than ${MAX_DEPTH} deep` })
    // Where Hono keeps a text that was read, and where its validator finds it: the body is read, and then parsed, once. Its bytes, which
    // Hono would keep beside it, go, but for those that the host has read.
    c.req.bodyCache = Object.assign(held, { text: Promise.resolve(text) })
    return next()
  }
}

/** As `readJson`, for bodies that may be left out: a request without one counts as `{}`, whatever type it says that has. */
export const readJsonIfSent = (maxBytes: number): MiddlewareHandler<Env> => {
  const read = readJson(maxBytes)
  return noted(readIfSent, { errors: refusals, isBodyOptional: true })

  async function readIfSent(c: Context<Env>, next: Next) {
    if (!isBodyless(c)) return read(c, next)
    Object.assign(c.req.bodyCache, { text: Promise.resolve('{}') })
    return next()
  }
}

/** A length of 0 is the sender's own word; without any, a body that was read before would look the same. */
const isBodyless = ({ req }: Context<Env>): boolean => {
  const length = req.header('content-length')
  if (req.header('transfer-encoding') !== undefined) return false
  return length === undefined ? req.header('content-type') === undefined : Number(length) === 0
}

function headerProblem(c: Context<Env>, maxBytes: number): HttpError | undefined {
  const type = c.req.header('content-type')
  if (type === undefined || !isJson(type))
    return {
      kind: 'media_type_unsupported',
      reason: 'Send JSON, with "Content-Type: application/json"',
    }
  const encoding = c.req.header('content-encoding') ?? 'identity'
  if (encoding.toLowerCase() !== 'identity')
    return { kind: 'media_type_unsupported', reason: 'Send the body without Content-Encoding' }
  return Number(c.req.header('content-length')) > maxBytes
    ? { kind: 'body_too_large', maxBytes }
    : undefined
}

/** `application/json`; of its parameters only a charset matters, and JSON has just one (RFC 8259 §8.1). */
function isJson(contentType: string): boolean {
  if (contentType === 'application/json') return true
  const [type, ...parameters] = contentType
    .toLowerCase()
    .split(';')
    .map((part) => part.trim())
  return (
    type === 'application/json' &&
    parameters.every(
      (parameter) => !parameter.startsWith('charset=') || /^charset="?utf-8"?$/.test(parameter),
    )
  )
}

async function readText(c: Context<Env>, maxBytes: number): Promise<string | HttpError> {
  const bytes = await readBytes(c, maxBytes)
  if (!(bytes instanceof Uint8Array)) return bytes
  if (bytes.length === 0)
    return { kind: 'body_malformed', reason: 'is empty, or was read before it reached this app' }
  try {
    const text = decoder.decode(bytes)
    if (text.charCodeAt(0) !== BYTE_ORDER_MARK) return text
    return {
      kind: 'body_malformed',
      reason: 'begins with a byte order mark, which JSON must not (RFC 8259 §8.1)',
    }
  } catch {
    return { kind: 'body_malformed', reason: 'is not valid UTF-8' }
  }
}

async function readBytes({ req }: Context<Env>, maxBytes: number): Promise<Uint8Array | HttpError> {
  const isHeld = Object.keys(req.bodyCache).length > 0 // by a middleware of the host that read it
  const isMeasured =
    Number(req.header('content-length')) >= 0 && req.header('transfer-encoding') === undefined
  if (req.raw.bodyUsed && !isHeld) return { kind: 'body_consumed' }
  try {
    const bytes =
      isHeld || isMeasured
        ? new Uint8Array(await req.arrayBuffer())
        : await readUpTo(req.raw.body, maxBytes)
    return bytes === undefined || bytes.length > maxBytes
      ? { kind: 'body_too_large', maxBytes }
      : bytes
  } catch (error) {
    // A TypeError says that somebody else has the body; anything else, that the sender left.
    const isConsumed = error instanceof TypeError && !req.raw.signal.aborted
    return isConsumed
      ? { kind: 'body_consumed' }
      : { kind: 'body_malformed', reason: 'ended early' }
  }
}

/** Undefined when there is more. */
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
