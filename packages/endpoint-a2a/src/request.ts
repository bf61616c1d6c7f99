import { A2A_VERSION_HEADER } from '@a2a-js/sdk'
import { ContentTypeNotSupportedError, RequestMalformedError } from '@a2a-js/sdk/errors'
import { ServerCallContext, validateVersion } from '@a2a-js/sdk/server'
import type { Json } from '@org/agent-messaging-core'
import { bodyTextLimits, isJsonObject } from '@org/agent-messaging-core/runtime'
import { readJson } from '@org/agent-messaging-http-kit'
import type { RouteContext } from './env.js'
import { rethrow } from './errors.js'

/** The third number of a version. It changes nothing in the protocol. */
const PATCH = /(?<=^\d+\.\d+)\.\d+$/

/** Returns the call's context. Throws if the request asks for another version of A2A. */
export async function callOf(
  c: RouteContext,
  binding: 'JSONRPC' | 'HTTP+JSON',
): Promise<ServerCallContext> {
  // A request without the header asks for version 0.3, by the specification.
  const sent = c.req.header(A2A_VERSION_HEADER) ?? c.req.query(A2A_VERSION_HEADER)
  const requestedVersion = sent?.replace(PATCH, '')
  const call = new ServerCallContext({ ...(requestedVersion && { requestedVersion }) })
  validateVersion(call.requestedVersion, await c.get('handler').getAgentCard(), binding)
  return call
}

/** Reads the body. Throws if it is too long or has another type. Undefined if it is not JSON. */
export async function readBody(
  c: RouteContext,
  maxBytes: number,
  types: readonly string[],
): Promise<Json | undefined> {
  const type = c.req.header('content-type')?.split(';', 1)[0]?.trim().toLowerCase()
  if (type !== undefined && !types.includes(type))
    throw new ContentTypeNotSupportedError(`Send the body as ${types.join(' or ')}, not ${type}`)
  return readJson(c, maxBytes, bodyTextLimits).catch(rethrow)
}

/** The fields of requests that the SDK turns into text, whatever they contain. */
const TEXTS: ReadonlySet<string> = new Set([
  'contextId',
  'credentials',
  'filename',
  'id',
  'mediaType',
  'messageId',
  'pageToken',
  'raw',
  'scheme',
  'taskId',
  'tenant',
  'text',
  'token',
  'url',
])
/** Fields with JSON of the caller's choice. */
const FREE: ReadonlySet<string> = new Set(['data', 'metadata'])

/**
 * Throws if a text field of a request has another type. The SDK also accepts names such as
 * `task_id`.
 */
export function checkTexts(value: Json | undefined, path = ''): void {
  if (Array.isArray(value)) return value.forEach((item, at) => checkTexts(item, `${path}[${at}]`))
  if (!isJsonObject(value)) return
  for (const [key, field] of Object.entries(value)) {
    const name = key.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())
    const place = path === '' ? name : `${path}.${name}`
    if (FREE.has(name)) continue
    if (TEXTS.has(name) && field !== null && typeof field !== 'string')
      throw new RequestMalformedError(`${place} must be a string`)
    checkTexts(field, place)
  }
}
