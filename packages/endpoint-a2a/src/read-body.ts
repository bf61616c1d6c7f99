import { ContentTypeNotSupportedError } from '@a2a-js/sdk/errors'
import { bodyTextLimits, type Json } from '@org/agent-messaging-core/runtime'
import { readJson } from '@org/agent-messaging-http-kit'
import type { Context } from 'hono'
import type { Env } from './env.js'
import { a2aError } from './errors.js'

/** Reads the body. Throws if it is too long or has another type. Undefined if it is not JSON. */
export async function readBody(
  c: Context<Env>,
  maxBytes: number,
  types: readonly string[],
): Promise<Json | undefined> {
  const type = c.req.header('content-type')?.split(';', 1)[0]?.trim().toLowerCase()
  if (type !== undefined && !types.includes(type))
    throw new ContentTypeNotSupportedError(`Send the body as ${types.join(' or ')}, not ${type}`)
  const body = await readJson(c, maxBytes, bodyTextLimits)
  if (body.isErr()) throw a2aError(body.error)
  return body.value
}
