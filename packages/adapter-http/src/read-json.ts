import { bodyTextLimits, jsonTextProblem } from '@org/agent-messaging-core/runtime'
import { type HttpError, readBytes, refusal } from '@org/agent-messaging-http-kit'
import type { RouteContext } from './env.js'

const BYTE_ORDER_MARK = 0xfeff
export const unreadBody = [
  'media_type_unsupported',
  'body_too_large',
  'body_malformed',
  'body_consumed',
] as const
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/**
 * Reads the body as JSON. Limits its bytes, depth and values. A body whose `Content-Length` is too
 * large is not read at all. Other bodies are read up to the limit. Refuses any other body.
 */
export async function readJson(c: RouteContext, maxBytes: number): Promise<unknown> {
  const problem = headerProblem(c)
  if (problem) return refusal(problem)
  const cached = { ...c.req.bodyCache }
  const text = await readText(c, maxBytes)
  if (typeof text !== 'string') return refusal(text)
  // The cache loses the bytes that were just read, and keeps the entries that the host made.
  c.req.bodyCache = Object.assign(cached, { text: Promise.resolve(text) })
  const reason = jsonTextProblem(text, bodyTextLimits)
  if (reason !== undefined) return refusal({ kind: 'body_malformed', reason })
  try {
    return JSON.parse(text)
  } catch {
    return refusal({ kind: 'body_malformed', reason: 'is not valid JSON' })
  }
}

/** As `readJson`, for an optional body. A request without a body counts as `{}`. */
export const readJsonIfSent: typeof readJson = async (c, maxBytes) =>
  isBodyless(c) ? {} : readJson(c, maxBytes)

/**
 * Without a length, a body that the host has read looks like no body. `Content-Type` then tells
 * them apart.
 */
const isBodyless = ({ req }: RouteContext): boolean => {
  const length = req.header('content-length')
  if (req.header('transfer-encoding') !== undefined) return false
  return length === undefined ? req.header('content-type') === undefined : Number(length) === 0
}

function headerProblem(c: RouteContext): HttpError | undefined {
  const type = c.req.header('content-type')
  if (type === undefined || !isJson(type))
    return {
      kind: 'media_type_unsupported',
      reason: 'Send JSON with "Content-Type: application/json"',
    }
  const encoding = c.req.header('content-encoding') ?? 'identity'
  if (encoding.toLowerCase() !== 'identity')
    return { kind: 'media_type_unsupported', reason: 'Send the body without Content-Encoding' }
  return undefined
}

/**
 * Accepts `application/json`. The only legal charset is UTF-8 (RFC 8259 §8.1). Other parameters are
 * ignored.
 */
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

async function readText(c: RouteContext, maxBytes: number): Promise<string | HttpError> {
  const bytes = await readBytes(c, maxBytes)
  if (!(bytes instanceof Uint8Array)) return bytes
  if (bytes.length === 0)
    return { kind: 'body_malformed', reason: 'is empty, or was read before it reached this app' }
  try {
    const text = decoder.decode(bytes)
    if (text.charCodeAt(0) !== BYTE_ORDER_MARK) return text
    return {
      kind: 'body_malformed',
      reason: 'must not begin with a byte order mark (RFC 8259 §8.1)',
    }
  } catch {
    return { kind: 'body_malformed', reason: 'is not valid UTF-8' }
  }
}
