const text = { type: 'string' }

/** The headers of answers, except `Content-Type` and `Cache-Control`. */
export const answerHeaders = {
  'X-Request-Id': {
    description: 'The id of the request: the caller’s, or a new one.',
    required: true,
    schema: text,
  },
  Location: {
    description: 'The path of the resource.',
    schema: { type: 'string', format: 'uri-reference' },
  },
  'Idempotent-Replayed': {
    description: '`true` if an earlier send with this key created the message.',
    schema: { ...text, const: 'true' },
  },
  'Preference-Applied': {
    description: 'The preferences that were applied (RFC 7240).',
    schema: text,
    example: 'wait=5',
  },
  'Retry-After': {
    description: 'Seconds to wait before the next try.',
    schema: { type: 'integer', minimum: 1 },
  },
  'RateLimit-Policy': {
    description: 'The limits of sends (draft-ietf-httpapi-ratelimit-headers-09).',
    schema: text,
    example: '"project";q=100;w=10, "key";q=20;w=20',
  },
  RateLimit: {
    description: 'The tokens left of the limits (draft-ietf-httpapi-ratelimit-headers-09).',
    schema: text,
    example: '"project";r=42;t=6, "key";r=1;t=19',
  },
  'WWW-Authenticate': {
    description: 'The kind of credentials that the route requires.',
    schema: { ...text, const: 'Bearer' },
  },
  Link: {
    description: 'Where the cause and the remedy of the error are explained (`rel="help"`).',
    schema: text,
    example: '</docs#error-NOT_FOUND>; rel="help"',
  },
  Allow: { description: 'The methods that the path accepts.', schema: text, example: 'GET, HEAD' },
  'X-Accel-Buffering': {
    description: 'Keeps nginx from buffering events.',
    schema: { ...text, const: 'no' },
  },
} as const
export type AnswerHeader = keyof typeof answerHeaders

const requestHeader = (name: string, description: string, schema: object = text) => ({
  name,
  in: 'header',
  description,
  schema,
})

export const requestHeaders = {
  'Idempotency-Key': requestHeader(
    'Idempotency-Key',
    'Sends to one session with the same key create one message, and each waits for its answer. ' +
      'In another session of the agent the key gets 422. It is kept as long as the message.',
    { type: 'string', minLength: 1, maxLength: 255, pattern: '^[!-+\\--~ ]+$' },
  ),
  Prefer: requestHeader(
    'Prefer',
    '`wait=N` waits at most N seconds. `respond-async` does not wait (RFC 7240).',
    {
      ...text,
      examples: ['wait=5', 'respond-async'],
    },
  ),
  traceparent: requestHeader(
    'traceparent',
    'W3C Trace Context. The agent and the webhooks of its answer get it too.',
  ),
  tracestate: requestHeader('tracestate', 'W3C Trace Context.'),
  'Last-Event-ID': requestHeader(
    'Last-Event-ID',
    'The `id` of the last event that you received. The stream continues after it.',
  ),
} as const
export type RequestHeader = keyof typeof requestHeaders

/** Refers to the headers of one answer: `{name: {$ref}}`. */
export const headerRefs = (names: readonly string[]) =>
  Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]))
