/** Headers that a customer wants on the requests to its own receiver or agent, beside ours. The values are secrets. */
export type CustomHeaders = Readonly<Record<string, string>>

export type CustomHeaderRules = {
  readonly maxHeaders: number
  readonly maxValueLength: number
  /** Of the three headers of S§6, where they are sent: all names that begin with it are the service's. */
  readonly headerPrefix?: string
}

const MAX_NAME_LENGTH = 128
/** RFC 9110 `token`, and field values in Latin-1 without control characters: anything else would throw when a request is sent. */
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/
const FIELD_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/

/** What we set ourselves, and what belongs to the connection. `accept-encoding`: answers are never inflated. */
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

/** The first header that cannot be sent, and why: the rest of a sentence that begins with the field's name. */
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
      : 'must not hold line breaks, control characters or characters beyond Latin-1'
  }

  const entries = Object.entries(headers)
  if (entries.length > maxHeaders)
    return { path: 'headers', message: `must be at most ${maxHeaders}` }
  for (const [name, value] of entries) {
    if (name.length > MAX_NAME_LENGTH || !TOKEN.test(name))
      return {
        path: 'headers',
        message: `must have names of at most ${MAX_NAME_LENGTH} letters, digits and hyphens`,
      }
    const message = problemOf(name, value)
    if (message !== undefined) return { path: `headers.${name}`, message }
  }
  return undefined
}

/** Ours and the customer's. Ours win in any case: a prefix that the operator chose later may have made a customer's header one of ours. */
export function withCustomHeaders(
  ours: Readonly<Record<string, string>>,
  custom: CustomHeaders,
): Record<string, string> {
  const taken = new Set(Object.keys(ours).map((name) => name.toLowerCase()))
  const own = Object.entries(custom).filter(([name]) => !taken.has(name.toLowerCase()))
  return { ...Object.fromEntries(own), ...ours }
}

const REDACTED = '[redacted]'

/** As `withCustomHeaders`, to be kept and shown. */
export const withRedactedHeaders = (
  ours: Readonly<Record<string, string>>,
  custom: CustomHeaders,
): Record<string, string> =>
  withCustomHeaders(ours, Object.fromEntries(Object.keys(custom).map((name) => [name, REDACTED])))

/** What is shorter is no secret, and may stand in any text. */
const SHORTEST_SECRET = 8

/** A text of somebody's who was sent these headers, to be kept and shown: without their values, with their scheme or without it. */
export const withoutHeaderValues = (text: string, custom: CustomHeaders): string =>
  Object.values(custom)
    .flatMap((value) => [value, value.replace(/^\w+ (?=\S+$)/, '')])
    .filter((secret) => secret.length >= SHORTEST_SECRET)
    .toSorted((a, b) => b.length - a.length)
    .reduce((said, secret) => said.replaceAll(secret, REDACTED), text)
