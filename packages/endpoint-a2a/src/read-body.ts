import { ContentTypeNotSupportedError } from '@a2a-js/sdk/errors'
import { bodyTextLimits, parseJsonText, type Json } from '@org/agent-messaging-core/runtime'
import type { Context } from 'hono'
import { readBytes } from '@org/agent-messaging-http-kit'
import type { Env } from './env.js'
import { a2aError } from './errors.js'

const decoder = new TextDecoder('utf-8', { fatal: true })

/**
 * Reads the body as text. Throws if it is too long or has another type. A body that is not UTF-8,
 * or that ends early because the caller left, counts as empty.
 */
export async function readBody(
  c: Context<Env>,
  maxBytes: number,
  types: readonly string[],
): Promise<string> {
  const type = c.req.header('content-type')?.split(';', 1)[0]?.trim().toLowerCase()
  if (type !== undefined && !types.includes(type))
    throw new ContentTypeNotSupportedError(`Send the body as ${types.join(' or ')}, not ${type}`)
  const bytes = await readBytes(c, maxBytes)
  if (!(bytes instanceof Uint8Array)) {
    if (bytes.kind === 'body_malformed') return ''
    throw a2aError(bytes)
  }
  try {
    return decoder.decode(bytes)
  } catch {
    return ''
  }
}

/** Returns undefined for text that is not JSON within the limits of a body. */
export function parseBody(text: string): Json | undefined {
  try {
    return parseJsonText(text, bodyTextLimits)
  } catch {
    return undefined
  }
}
