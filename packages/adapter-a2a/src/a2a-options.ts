import type { JsonObject, ParsedOptions } from '@org/agent-messaging-core'
import { err, ok, type Result } from 'neverthrow'
import { z } from 'zod'

const MAX_HEADERS = 32
const MAX_TIMEOUT_MS = 24 * 3_600_000

/** RFC 9110 field names, and values in Latin-1 without control characters: anything else would throw when a request is sent. */
const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,128}$/
const headerValue = z.string('must be a string').regex(/^[\t\x20-\x7e\x80-\xff]{0,8192}$/, 'must be a header value in Latin-1')

/** What the protocol and the connection need for themselves. */
const OURS =
  /^(content-.*|host|user-agent|accept|accept-encoding|a2a-.*|connection|keep-alive|transfer-encoding|te|trailer|upgrade|expect|proxy-.*)$/i

const options = z.strictObject({
  url: z.string('must be a string'),
  headers: z
    .record(z.string(), headerValue, 'must be an object')
    .refine((headers) => Object.keys(headers).every((name) => HEADER_NAME.test(name)), 'must have names of letters, digits and hyphens')
    .refine((headers) => Object.keys(headers).length <= MAX_HEADERS, `must be at most ${MAX_HEADERS}`)
    .refine((headers) => !Object.keys(headers).some((name) => OURS.test(name)), 'must not name a header that the service sets itself')
    .optional(),
  timeoutMs: z
    .int('must be a whole number')
    .min(1, 'must be at least 1')
    .max(MAX_TIMEOUT_MS, `must be at most ${MAX_TIMEOUT_MS}`)
    .optional(),
})

/** Whose text is right; whether the URL may be called is for the caller to ask. Header values are secrets. */
export function parseA2aOptions(input: JsonObject): Result<ParsedOptions & { readonly url: string }, string> {
  const parsed = options.safeParse(input)
  if (!parsed.success) return err(sentence(parsed.error.issues[0]))
  const { url, headers, timeoutMs } = parsed.data
  return ok({
    url,
    options: { url, ...(headers && { headers: { set: true } }), ...(timeoutMs !== undefined && { timeoutMs }) },
    secrets: headers ? { headers } : {},
  })
}

function sentence(issue: z.core.$ZodIssue | undefined): string {
  if (issue?.code === 'unrecognized_keys') return `${issue.keys[0]} is not an option of a2a agents`
  return issue ? `${issue.path.join('.')} ${issue.message}` : 'options are not valid'
}
