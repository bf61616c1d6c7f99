import type { RunError } from '@org/agent-messaging-core/runtime'
import { entryFor, OVERLOAD, type ByKind } from '@org/agent-messaging-core/host'
import {
  reply,
  codeByKind,
  refusalOf as refusalOfAll,
  type HttpError,
  type KitContext,
} from '@org/agent-messaging-http-kit'
import type { ContentfulStatusCode } from 'hono/utils/http-status'

/** A field that is refused. `param` is its path, such as `input[0].content`. */
export type Problem = {
  readonly kind: 'problem'
  readonly param: string
  readonly message: string
  readonly code: 'invalid_value' | 'unknown_parameter' | 'unsupported_parameter'
}

type OwnError =
  | Problem
  | { readonly kind: 'reference_not_found'; readonly param: string }
  | { readonly kind: 'run_failed'; readonly error: RunError }
  | { readonly kind: 'no_answer_yet' }
export type EndpointError = HttpError | OwnError

/** The fields of OpenAI's error object, with the HTTP status. */
type Refusal = {
  readonly status: ContentfulStatusCode
  readonly type?: 'invalid_request_error' | 'server_error' | 'rate_limit_error'
  readonly code: string
  readonly message: string
  readonly param?: string | undefined
  readonly retryAfterSeconds?: number | undefined
}

const OVERLOADED = 'overloaded'
const NO_RESPONSE = { status: 404, code: 'response_not_found' } as const

const own: ByKind<OwnError, Refusal> = {
  problem: ({ code, message, param }) => ({
    status: 400,
    code,
    message: `${param} ${message}`,
    param,
  }),
  reference_not_found: ({ param }) => ({
    ...NO_RESPONSE,
    message: `${param} names no response of the project`,
    param,
  }),
  // Clients repeat a request after a 5xx, and the agent would run again.
  run_failed: ({ error: { code, message } }) => ({
    status: 422,
    type: 'server_error',
    code,
    message: `The agent did not answer: ${message}`,
  }),
  no_answer_yet: {
    status: 504,
    code: 'no_answer_yet',
    message:
      'The agent has not answered yet and continues. Repeat the request with the same ' +
      'Idempotency-Key to wait for the same answer',
  },
}

/** What this API says in other words than every protocol. */
const differences: Partial<ByKind<HttpError, Partial<Refusal>>> = {
  body_malformed: { code: 'invalid_json' },
  body_too_large: { code: 'request_too_large' },
  invalid: ({ issues }) => ({ code: 'invalid_value', param: issues[0]?.path }),
  end_user_id_required: {
    code: 'missing_required_parameter',
    message: 'The agent runs on behalf of an end user. Send the id of the user in `user`',
    param: 'user',
  },
  principal_invalid: ({ reason }) => ({
    code: 'invalid_value',
    message: `user is invalid: ${reason}`,
    param: 'user',
  }),
  unauthorized: { code: 'invalid_api_key', message: 'Send a valid API key of the project' },
  forbidden: { code: 'insufficient_permissions' },
  route_not_found: { code: 'unknown_url', message: 'This endpoint has no such route' },
  agent_not_found: {
    code: 'model_not_found',
    message: 'The project has no agent with this name',
    param: 'model',
  },
  message_not_found: { ...NO_RESPONSE, message: 'The project has no response with this id' },
  message_final: {
    status: 400,
    code: 'response_final',
    message: 'The response is final. Read it instead',
  },
  agent_not_running: { status: 503 },
  session_full: { message: 'Too many messages of this conversation are waiting' },
  rate_limited: {
    code: 'rate_limit_exceeded',
    message: 'The limit of requests is reached. Try again later',
  },
  too_many_streams: { message: 'The project or the caller has reached its limit of open streams' },
  unavailable: ({ reason }) => (reason === OVERLOAD ? { code: OVERLOADED } : {}),
  internal: { code: 'internal_error' },
  body_consumed: { code: 'internal_error' },
}

/** Returns the answer to an error. Its code is the kind, if OpenAI has no code for it. */
export function refusalOf(error: EndpointError): Required<Refusal> {
  const refusal = isOwn(error)
    ? (entryFor(own, error) as Refusal)
    : { ...refusalOfAll(error), code: error.kind, ...entryFor(differences, error) }
  return {
    type: typeOf(refusal.status),
    param: undefined,
    retryAfterSeconds: undefined,
    ...refusal,
  }
}

const isOwn = (error: EndpointError): error is OwnError => !Object.hasOwn(codeByKind, error.kind)

function typeOf(status: number) {
  if (status === 429) return 'rate_limit_error'
  return status < 500 ? 'invalid_request_error' : 'server_error'
}

/** Returns OpenAI's error object. */
export const errorObject = ({
  type,
  code,
  message,
  param,
}: Pick<Required<Refusal>, 'type' | 'code' | 'message'> & Pick<Refusal, 'param'>) => ({
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
export function refuse(c: KitContext, error: EndpointError): Response {
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
