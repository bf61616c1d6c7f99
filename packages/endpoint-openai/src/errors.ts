import type { MessagingService, Permission, RunError } from '@org/agent-messaging-core'
import { jsonTextRule, OVERLOAD, retrySecondsOf, textOf } from '@org/agent-messaging-core/runtime'
import type { Context } from 'hono'
import type { ContentfulStatusCode } from 'hono/utils/http-status'
import type { ResultAsync } from 'neverthrow'
import type { Env } from './env.js'
import { reply } from './reply.js'

/** A field that is refused. `param` is its path, such as `input[0].content`. */
export type Problem = {
  readonly kind: 'problem'
  readonly param: string
  readonly message: string
  readonly code: 'invalid_value' | 'unknown_parameter' | 'unsupported_parameter'
}

type ErrorOf<F> = F extends (...input: never[]) => ResultAsync<unknown, infer E> ? E : never
type Messages = MessagingService['messages']
type ServiceError =
  | ErrorOf<Messages['send' | 'get' | 'stream' | 'cancel' | 'setMetadata']>
  | ErrorOf<MessagingService['agents']['get' | 'list']>
  | ErrorOf<MessagingService['keys']['authenticate']>

/** The errors of the service's use cases, read off their signatures, and errors of this layer. */
export type EndpointError =
  | ServiceError
  | Problem
  | { readonly kind: 'forbidden'; readonly permission: Permission }
  | { readonly kind: 'body_too_large'; readonly maxBytes: number }
  | { readonly kind: 'reference_not_found'; readonly param: string }
  | { readonly kind: 'run_failed'; readonly error: RunError }
  | {
      readonly kind: 'body_malformed' | 'route_not_found' | 'internal' | 'no_answer_yet'
    }

type ErrorType = 'invalid_request_error' | 'server_error' | 'rate_limit_error'
/** The fields of OpenAI's error object, with the HTTP status. */
export type Refusal = {
  readonly status: ContentfulStatusCode
  readonly type: ErrorType
  readonly code: string
  readonly message: string
  readonly param?: string
  readonly retryAfterSeconds?: number
}

const invalid = (
  status: ContentfulStatusCode,
  code: string,
  message: string,
  param?: string,
): Refusal => ({
  status,
  type: 'invalid_request_error',
  code,
  message,
  ...(param !== undefined && { param }),
})
const rateLimited = (code: string, message: string): Refusal => ({
  status: 429,
  type: 'rate_limit_error',
  code,
  message,
  retryAfterSeconds: 1,
})
const failed = (status: ContentfulStatusCode, code: string, message: string): Refusal => ({
  status,
  type: 'server_error',
  code,
  message,
})

const OVERLOADED = 'overloaded'
const END_USER = 'The agent runs on behalf of an end user. Send the id of the user in `user`'

/** The answer to every error. Errors become OpenAI's shape in this table and nowhere else. */
const refusals: {
  readonly [K in EndpointError['kind']]: (error: EndpointError & { kind: K }) => Refusal
} = {
  problem: ({ code, message, param }) => invalid(400, code, `${param} ${message}`, param),
  body_malformed: () =>
    invalid(400, 'invalid_json', `The body must be a JSON object with ${jsonTextRule}`),
  body_too_large: ({ maxBytes }) =>
    invalid(413, 'request_too_large', `The body must have at most ${maxBytes} bytes`),
  invalid: ({ issues }) =>
    invalid(
      400,
      'invalid_value',
      issues.map(({ path, message }) => `${path} ${message}`).join('; '),
      issues[0]?.path,
    ),
  end_user_id_required: () => invalid(400, 'missing_required_parameter', END_USER, 'user'),
  principal_invalid: ({ reason }) =>
    invalid(400, 'invalid_value', `user is invalid: ${reason}`, 'user'),
  unauthorized: () => invalid(401, 'invalid_api_key', 'Send a valid API key of the project'),
  forbidden: ({ permission }) =>
    invalid(403, 'insufficient_permissions', `The API key lacks the permission ${permission}`),
  route_not_found: () => invalid(404, 'unknown_url', 'This endpoint has no such route'),
  agent_not_found: () =>
    invalid(404, 'model_not_found', 'The project has no agent with this name', 'model'),
  message_not_found: () =>
    invalid(404, 'response_not_found', 'The project has no response with this id'),
  reference_not_found: ({ param }) =>
    invalid(404, 'response_not_found', `${param} names no response of the project`, param),
  message_final: () => invalid(400, 'response_final', 'The response is final. Read it instead'),
  agent_not_running: ({ state, retryInMs }) => ({
    ...failed(503, 'agent_not_running', `The agent is not running: its state is ${state}`),
    ...(retryInMs !== undefined && { retryAfterSeconds: Math.ceil(retryInMs / 1_000) }),
  }),
  idempotency_mismatch: () =>
    invalid(
      422,
      'idempotency_mismatch',
      'The Idempotency-Key was already used with a different request',
    ),
  session_full: () =>
    rateLimited('session_full', 'Too many messages of this conversation are waiting'),
  rate_limited: ({ levels }) => ({
    ...rateLimited('rate_limit_exceeded', 'The limit of requests is reached. Try again later'),
    retryAfterSeconds: Math.max(...levels.map(({ retryInMs }) => Math.ceil(retryInMs / 1_000))),
  }),
  too_many_streams: () =>
    rateLimited('too_many_streams', 'The project has reached its limit of open streams'),
  unavailable: (error) => ({
    ...failed(503, error.reason === OVERLOAD ? OVERLOADED : 'unavailable', textOf(error)),
    retryAfterSeconds: retrySecondsOf(error),
  }),
  // Clients repeat a request after a 5xx, and the agent would run again.
  run_failed: ({ error: { code, message } }) =>
    failed(422, code, `The agent did not answer: ${message}`),
  no_answer_yet: () =>
    failed(
      504,
      'no_answer_yet',
      'The agent has not answered yet and continues. Repeat the request with the same ' +
        'Idempotency-Key to wait for the same answer',
    ),
  internal: () => failed(500, 'internal_error', 'The service failed unexpectedly'),
}

export function refusalOf(error: EndpointError): Refusal {
  // TypeScript cannot see that each entry gets an error of the matching kind.
  const describe = refusals[error.kind] as (error: EndpointError) => Refusal
  return describe(error)
}

/** Returns OpenAI's error object. */
export const errorObject = ({
  type,
  code,
  message,
  param,
}: Pick<Refusal, 'type' | 'code' | 'message' | 'param'>) => ({
  message,
  type,
  param: param ?? null,
  code,
})

/** Errors after which the message of a request is possibly stored. */
const AFTER_STORING: ReadonlySet<EndpointError['kind']> = new Set([
  'run_failed',
  'no_answer_yet',
  'too_many_streams',
  'unavailable',
  'internal',
])

/** Answers with an error in OpenAI's shape. */
export function refuse(c: Context<Env>, error: EndpointError): Response {
  const refusal = refusalOf(error)
  const { status, code, retryAfterSeconds } = refusal
  // The official clients repeat a request after a 429 or a 5xx. Without a key, the repetition would
  // be a second message.
  const canRepeat =
    c.req.method !== 'POST' ||
    code === OVERLOADED ||
    !AFTER_STORING.has(error.kind) ||
    c.req.header('idempotency-key') !== undefined
  return reply(
    c,
    status,
    { error: errorObject(refusal) },
    {
      ...(retryAfterSeconds !== undefined && { 'Retry-After': String(retryAfterSeconds) }),
      ...(!canRepeat && { 'x-should-retry': 'false' }),
    },
  )
}
