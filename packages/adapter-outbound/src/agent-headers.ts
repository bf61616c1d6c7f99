import { z } from 'zod'

const MAX_HEADERS = 32
const MAX_NAME_LENGTH = 128
const MAX_VALUE_LENGTH = 8 * 1024

/** RFC 9110 `token`, and field values in Latin-1 without control characters: anything else would throw when a request is sent. */
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/
const FIELD_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/

/** What we set ourselves, and what belongs to the connection. `accept-encoding`: answers are never inflated. */
const OURS = new Set([
  ...['content-type', 'content-length', 'content-encoding', 'host', 'user-agent', 'idempotency-key', 'accept-encoding'],
  ...['webhook-id', 'webhook-timestamp', 'webhook-signature'],
  ...['connection', 'keep-alive', 'transfer-encoding', 'te', 'trailer', 'upgrade', 'expect', 'proxy-connection', 'proxy-authorization'],
])

/** The option `headers` of agents that are reached by HTTP. */
export const agentHeaders = z.record(z.string(), z.string('must be a string'), 'must be an object')

/** Why these headers cannot be sent along, as a sentence that begins with the field's name; `prefix` begins the names of our own. */
export function headersProblem(headers: Readonly<Record<string, string>>, prefix?: string): string | undefined {
  const entries = Object.entries(headers)
  if (entries.length > MAX_HEADERS) return `headers must be at most ${MAX_HEADERS}`
  for (const [name, value] of entries) {
    if (name.length > MAX_NAME_LENGTH || !TOKEN.test(name))
      return `headers must have names of at most ${MAX_NAME_LENGTH} letters, digits and hyphens`
    const lowerCase = name.toLowerCase()
    if (OURS.has(lowerCase) || (prefix && lowerCase.startsWith(`${prefix.toLowerCase()}-`)))
      return `headers.${name} is set by the service itself`
    if (value.length > MAX_VALUE_LENGTH) return `headers.${name} must have at most ${MAX_VALUE_LENGTH} characters`
    if (!FIELD_VALUE.test(value)) return `headers.${name} must not hold line breaks, control characters or characters beyond Latin-1`
  }
  return undefined
}
