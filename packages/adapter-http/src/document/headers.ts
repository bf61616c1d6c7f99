const text = { type: 'string' }

/** The headers of answers, beside `Content-Type` and `Cache-Control`. */
export const answerHeaders = {
  'X-Request-Id': {
    description: 'Names the request: the caller’s own if it sent one, else made here.',
    required: true,
    schema: text,
  },
  Location: {
    description: 'Where to read it from now on; relative.',
    schema: { type: 'string', format: 'uri-reference' },
  },
  'Idempotent-Replayed': {
    description: '`true` when an earlier message with this key was found.',
    schema: { ...text, const: 'true' },
  },
  'Preference-Applied': {
    description: 'What of `Prefer` was granted (RFC 7240).',
    schema: text,
    example: 'wait=5',
  },
  'Retry-After': {
    description: 'Seconds after which it is worth while to ask again.',
    schema: { type: 'integer', minimum: 1 },
  },
  'WWW-Authenticate': {
    description: 'Which credentials are wanted.',
    schema: { ...text, const: 'Bearer' },
  },
  ETag: { description: 'Names this version; send it as `If-None-Match`.', schema: text },
  Allow: { description: 'The methods that the path takes.', schema: text, example: 'GET, HEAD' },
  'X-Accel-Buffering': {
    description: 'Tells nginx to pass on every event at once.',
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
    'Sends to one agent with one key make one message; each of them waits for its one answer. Kept as long as the message.',
    { type: 'string', minLength: 1, maxLength: 255, pattern: '^[!-+\\--~ ]+$' },
  ),
  Prefer: requestHeader(
    'Prefer',
    '`wait=N` waits at most N seconds, `respond-async` not at all (RFC 7240).',
    {
      ...text,
      examples: ['wait=5', 'respond-async'],
    },
  ),
  'If-None-Match': requestHeader(
    'If-None-Match',
    'The `ETag` of what you have: when it is still that, the answer is an empty 304.',
  ),
  traceparent: requestHeader(
    'traceparent',
    'W3C Trace Context; handed on to the agent and to the webhooks of its answer.',
  ),
  tracestate: requestHeader('tracestate', 'W3C Trace Context.'),
  'Last-Event-ID': requestHeader(
    'Last-Event-ID',
    'The `id` of the last event that was seen: the stream goes on behind it.',
  ),
} as const
export type RequestHeader = keyof typeof requestHeaders

/** `{name: {$ref}}` for the headers of one answer. */
export const headerRefs = (names: readonly string[]) =>
  Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]))
