import { ContentTypeNotSupportedError } from '@a2a-js/sdk/errors'
import { bodyTextLimits, parseJsonText, type Json } from '@org/agent-messaging-core/runtime'
import type { Context } from 'hono'
import { Caller } from '@org/agent-messaging-http-kit'
import type { Env } from './env.js'
import { a2aError } from './errors.js'

/** The codes of errors for a body that is not UTF-8, and for a caller that has left. */
const UNREADABLE: ReadonlySet<unknown> = new Set([
  'ERR_ENCODING_INVALID_ENCODED_DATA',
  'ECONNRESET',
])

/**
 * Reads the body as text. Throws if it is too long or has another type. A body that is not UTF-8,
 * or that ends early because the caller left, counts as empty.
 */
export async function readBody(
  c: Context<Env>,
  maxBytes: number,
  types: readonly string[],
): Promise<string> {
  const { req } = c
  const type = req.header('content-type')?.split(';', 1)[0]?.trim().toLowerCase()
  if (type !== undefined && !types.includes(type))
    throw new ContentTypeNotSupportedError(`Send the body as ${types.join(' or ')}, not ${type}`)
  if (Number(req.header('content-length') ?? 0) > maxBytes)
    throw a2aError({ kind: 'body_too_large', maxBytes })
  try {
    return await textOf(req, maxBytes)
  } catch (error) {
    if (new Caller(c).aborted) return ''
    if (error instanceof Error && 'code' in error && UNREADABLE.has(error.code)) return ''
    throw error
  }
}

async function textOf(req: Context<Env>['req'], maxBytes: number): Promise<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true })
  if (req.header('content-length') !== undefined) return decoder.decode(await req.arrayBuffer())
  let text = ''
  let length = 0
  for await (const chunk of req.raw.body ?? []) {
    length += chunk.length
    if (length > maxBytes) throw a2aError({ kind: 'body_too_large', maxBytes })
    text += decoder.decode(chunk, { stream: true })
  }
  return text + decoder.decode()
}

/** Returns undefined for text that is not JSON within the limits of a body. */
export function parseBody(text: string): Json | undefined {
  try {
    return parseJsonText(text, bodyTextLimits)
  } catch {
    return undefined
  }
}
