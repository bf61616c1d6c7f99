/** A customer's headers for requests to its receiver or agent. The values are secrets. */
export type CustomHeaders = Readonly<Record<string, string>>

export type CustomHeaderRules = {
  readonly maxHeaders: number
  readonly maxValueLength: number
  /**
   * The prefix of the headers of a webhook request. Every name with this prefix belongs to the
   * service.
   */
  readonly headerPrefix?: string
}

const MAX_NAME_LENGTH = 128
/**
 * RFC 9110 `token`, and field values in Latin-1 without control characters. Other text would throw
 * when a request is sent.
 */
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/
const FIELD_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/

/**
 * Headers that the service or the connection sets. `accept-encoding` is one, because answers are
 * never decompressed.
 */
const OURS = new Set([
  ...[
    'content-type',
    'content-length',
    'content-encoding',
    'host',
    'user-agent',
    'idempotency-key',
    'accept-encoding',
  ],
  ...['traceparent', 'tracestate'],
  ...[
    'connection',
    'keep-alive',
    'transfer-encoding',
    'te',
    'trailer',
    'upgrade',
    'expect',
    'proxy-connection',
    'proxy-authorization',
  ],
])
const STANDARD_WEBHOOKS = 'webhook-'

/**
 * Returns the reason why a header cannot be sent, as the rest of a sentence that starts with the
 * field's name.
 */
export function customHeadersProblem(
  headers: CustomHeaders,
  { maxHeaders, maxValueLength, headerPrefix }: CustomHeaderRules,
): { readonly path: string; readonly message: string } | undefined {
  const prefixes = [
    STANDARD_WEBHOOKS,
    ...(headerPrefix === undefined ? [] : [`${headerPrefix.toLowerCase()}-`]),
  ]
  const seen = new Set<string>()

  function problemOf(name: string, value: string): string | undefined {
    const lowerCase = name.toLowerCase()
    if (OURS.has(lowerCase) || prefixes.some((prefix) => lowerCase.startsWith(prefix)))
      return 'is set by the service itself'
    if (seen.size === seen.add(lowerCase).size) return 'is there twice'
    if (value.length > maxValueLength) return `must have at most ${maxValueLength} characters`
    return FIELD_VALUE.test(value)
      ? undefined
      : 'must not contain line breaks, control characters or characters beyond Latin-1'
  }

  const entries = Object.entries(headers)
  if (entries.length > maxHeaders)
    return { path: 'headers', message: `must be at most ${maxHeaders}` }
  for (const [name, value] of entries) {
    if (name.length > MAX_NAME_LENGTH || !TOKEN.test(name))
      return { path: 'headers', message: NAME_PROBLEM }
    const message = problemOf(name, value)
    if (message !== undefined) return { path: `headers.${name}`, message }
  }
  return undefined
}

const NAME_PROBLEM =
  `must have names of 1 to ${MAX_NAME_LENGTH} characters, each a letter, a digit or one of ` +
  "!#$%&'*+-.^_`|~"

/** Describes legal headers as JSON Schema, except for the names that the service sets itself. */
export const customHeadersSchema = ({
  maxHeaders,
  maxValueLength,
}: Pick<CustomHeaderRules, 'maxHeaders' | 'maxValueLength'>) => ({
  type: 'object',
  maxProperties: maxHeaders,
  propertyNames: { maxLength: MAX_NAME_LENGTH, pattern: TOKEN.source },
  additionalProperties: { type: 'string', maxLength: maxValueLength, pattern: FIELD_VALUE.source },
})

/**
 * Joins the service's headers and the customer's. The service's win: an operator can choose a
 * prefix after a customer chose a header.
 */
export function withCustomHeaders(
  ours: Readonly<Record<string, string>>,
  custom: CustomHeaders,
): Record<string, string> {
  const taken = new Set(Object.keys(ours).map((name) => name.toLowerCase()))
  const own = Object.entries(custom).filter(([name]) => !taken.has(name.toLowerCase()))
  return { ...Object.fromEntries(own), ...ours }
}

const REDACTED = '[redacted]'

/**
 * Joins the headers as `withCustomHeaders` does, without the customer's values, for storing and
 * showing.
 */
export const withRedactedHeaders = (
  ours: Readonly<Record<string, string>>,
  custom: CustomHeaders,
): Record<string, string> =>
  withCustomHeaders(ours, Object.fromEntries(Object.keys(custom).map((name) => [name, REDACTED])))

/** Shorter values are not treated as secrets, because they can occur in any text. */
const SHORTEST_SECRET = 8

/**
 * Removes the header values, with and without their scheme, from a text that a receiver of them
 * returned.
 */
export const withoutHeaderValues = (text: string, custom: CustomHeaders): string =>
  Object.values(custom)
    .flatMap((value) => [value, value.replace(/^\w+ (?=\S+$)/, '')])
    .filter((secret) => secret.length >= SHORTEST_SECRET)
    .toSorted((a, b) => b.length - a.length)
    .reduce((said, secret) => said.replaceAll(secret, REDACTED), text)
