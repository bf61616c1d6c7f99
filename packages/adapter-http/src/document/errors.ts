import { errorCodes, type ErrorCode, type HttpError } from '@org/agent-messaging-http-kit'
import { errorBody } from '../errors.js'
import { headerRefs } from './headers.js'

type Kind = HttpError['kind']
type ErrorOf<K extends Kind> = HttpError & { kind: K }
/** Example facts for each kind of error that carries any. */
type Facts = {
  readonly [K in Kind as Exclude<keyof ErrorOf<K>, 'kind'> extends never ? never : K]: Omit<
    ErrorOf<K>,
    'kind'
  >
}
const facts: Facts = {
  invalid: { issues: [{ path: 'message', message: 'is required' }] },
  body_malformed: { reason: 'is not valid JSON' },
  principal_invalid: { reason: 'type must be "service" or "end_user"', endUserIdMissing: false },
  forbidden: { permissions: ['project:message'] },
  idempotency_mismatch: {},
  access_restricted: {},
  method_not_allowed: { allow: ['GET', 'HEAD'] },
  agent_not_running: { state: 'starting', retryInMs: 1_000 },
  rate_limited: {
    levels: [
      {
        of: 'project',
        limit: { messagesPerMinute: 600, burst: 100 },
        remaining: 0,
        fullInMs: 10_000,
        retryInMs: 100,
      },
    ],
  },
  body_too_large: { maxBytes: 1_048_576 },
  media_type_unsupported: { reason: 'Send JSON with "Content-Type: application/json"' },
  unavailable: { reason: 'a reason that the caller does not see' },
}

// TypeScript cannot see that each kind gets the facts for its kind.
export const exampleOf = (kind: Kind) =>
  errorBody({ kind, ...(facts as { [K in Kind]?: object })[kind] } as HttpError)

/** The errors that an operation can answer with, by status. */
export const errorsOf = (kinds: readonly Kind[]) =>
  [...new Set(kinds)]
    .map(exampleOf)
    .map(({ code, message }) => ({ status: errorCodes[code].status, code, message }))
    .toSorted((one, other) => one.status - other.status)

/** An error of each code, for the examples. */
const kindOf: { readonly [Code in ErrorCode]: Kind } = {
  BAD_REQUEST: 'invalid',
  UNAUTHORIZED: 'unauthorized',
  FORBIDDEN: 'forbidden',
  NOT_FOUND: 'agent_not_found',
  METHOD_NOT_ALLOWED: 'method_not_allowed',
  AGENT_NOT_RUNNING: 'agent_not_running',
  CONFLICT: 'name_taken',
  GONE: 'event_cursor_expired',
  PAYLOAD_TOO_LARGE: 'body_too_large',
  UNSUPPORTED_MEDIA_TYPE: 'media_type_unsupported',
  IDEMPOTENCY_MISMATCH: 'idempotency_mismatch',
  TOO_MANY_REQUESTS: 'session_full',
  INTERNAL_ERROR: 'internal',
  UNAVAILABLE: 'unavailable',
}

/** The answer to each error of each operation. */
export const errorResponse = () => ({
  description:
    'An error. `x-errors` of the operation lists its errors. `Link` leads to the cause and the ' +
    'remedy.',
  headers: headerRefs([
    'X-Request-Id',
    'Link',
    'Retry-After',
    'RateLimit-Policy',
    'RateLimit',
    'WWW-Authenticate',
    'Allow',
  ]),
  content: {
    'application/json': {
      schema: { $ref: '#/components/schemas/Error' },
      examples: Object.fromEntries(
        Object.entries(kindOf).map(([code, kind]) => [code, { value: exampleBody(kind) }]),
      ),
    },
  },
})

const exampleBody = (kind: Kind) => ({
  error: exampleOf(kind),
  requestId: '0198b2c4-6f0e-7a1b-8c2d-3e4f5a6b7c8d',
})
