import type { JsonObject, ParsedOptions } from '@org/agent-messaging-core'
import { err, ok, type Result } from 'neverthrow'
import { z } from 'zod'

const MAX_HEADERS = 32
const MAX_NAME_LENGTH = 128
const MAX_VALUE_LENGTH = 8 * 1024
const MAX_TIMEOUT_MS = 24 * 3_600_000

/** RFC 9110 `token`, and field values in Latin-1 without control characters: anything else would throw when a request is sent. */
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/
const FIELD_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/

/** What we set ourselves, and what belongs to the connection. `accept-encoding`: answers are never inflated. */
const OURS = new Set([
  ...['content-type', 'content-length', 'content-encoding', 'host', 'user-agent', 'idempotency-key', 'accept-encoding'],
  ...['webhook-id', 'webhook-timestamp', 'webhook-signature'],
  ...['connection', 'keep-alive', 'transfer-encoding', 'te', 'trailer', 'upgrade', 'expect', 'proxy-connection', 'proxy-authorization'],
])

const options = z.strictObject({
  url: z.string('must be a string'),
  headers: z.record(z.string(), z.string('must be a string'), 'must be an object').optional(),
  timeoutMs: z
    .int('must be a whole number')
    .min(1, 'must be at least 1')
    .max(MAX_TIMEOUT_MS, `must be at most ${MAX_TIMEOUT_MS}`)
    .optional(),
})

/** Whose text is right; whether the URL may be called is for the caller to ask. Header values are secrets, their names too. */
export function parseHttpOptions(input: JsonObject, headerPrefix: string): Result<ParsedOptions & { readonly url: string }, string> {
  const parsed = options.safeParse(input)
  if (!parsed.success) return err(sentence(parsed.error.issues[0]))
  const { url, headers, timeoutMs } = parsed.data
  const problem = headersProblem(headers ?? {}, headerPrefix)
  if (problem !== undefined) return err(problem)
  return ok({
    url,
    options: { url, ...(headers && { headers: { set: true } }), ...(timeoutMs !== undefined && { timeoutMs }) },
    secrets: headers ? { headers } : {},
  })
}

function sentence(issue: z.core.$ZodIssue | undefined): string {
  if (issue?.code === 'unrecognized_keys') return `${issue.keys[0]} is not an option of http agents`
  return issue ? `${issue.path.join('.')} ${issue.message}` : 'options are not valid'
}

function headersProblem(headers: Readonly<Record<string, string>>, headerPrefix: string): string | undefined {
  const entries = Object.entries(headers)
  if (entries.length > MAX_HEADERS) return `headers must be at most ${MAX_HEADERS}`
  for (const [name, value] of entries) {
    if (name.length > MAX_NAME_LENGTH || !TOKEN.test(name))
      return `headers must have names of at most ${MAX_NAME_LENGTH} letters, digits and hyphens`
    const lowerCase = name.toLowerCase()
    if (OURS.has(lowerCase) || lowerCase.startsWith(`${headerPrefix.toLowerCase()}-`)) return `headers.${name} is set by the service itself`
    if (value.length > MAX_VALUE_LENGTH) return `headers.${name} must have at most ${MAX_VALUE_LENGTH} characters`
    if (!FIELD_VALUE.test(value)) return `headers.${name} must not hold line breaks, control characters or characters beyond Latin-1`
  }
  return undefined
}
