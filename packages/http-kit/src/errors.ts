import { MessagingError, type ServiceError } from '@org/agent-messaging-core'
import {
  entryFor,
  wordsOf,
  type Answer,
  type ByKind,
  type ErrorOf,
  type ErrorWords,
  type PlatformPermission,
} from '@org/agent-messaging-core/host'
import { errorCodes, type ErrorCode } from './error-codes.js'

/** Errors that a face finds before it calls the service. */
export type RequestError =
  | { readonly kind: 'forbidden'; readonly permissions: readonly PlatformPermission[] }
  | {
      readonly kind:
        | 'cron_unauthorized'
        | 'operator_unauthorized'
        | 'metrics_unauthorized'
        | 'route_not_found'
        | 'origin_refused'
        | 'login_unavailable'
        | 'portal_off'
        | 'internal'
        | 'body_consumed'
    }
  | { readonly kind: 'method_not_allowed'; readonly allow: readonly string[] }
  | { readonly kind: 'body_too_large'; readonly maxBytes: number }
  | { readonly kind: 'media_type_unsupported' | 'body_malformed'; readonly reason: string }

export type HttpError = ServiceError | RequestError

/** A refusal of a face, which can have kinds of its own. */
export class RequestRefusal<
  E extends { readonly kind: string } = HttpError,
> extends MessagingError {
  constructor(details: E) {
    super(details as object as ServiceError, details.kind)
  }
}

/** Refuses as a call of the service does. */
export const refusal = <const E extends { readonly kind: string }>(error: E): Answer<never, E> =>
  Promise.reject(new RequestRefusal(error))

/** Refuses the field at a path. */
export function refuseField(path: string, message: string): never {
  throw new RequestRefusal({ kind: 'invalid', issues: [{ path, message }] })
}

/** Continues with the value of an answer, and keeps the errors of both in the type. */
export const chain = <T, E, Next>(answer: Answer<T, E>, next: (value: T) => Next) =>
  answer.then(next) as Answer<Awaited<Next>, E | ErrorOf<Next>>

/** The code of each kind of error. A new kind must get a code here to compile. */
export const codeByKind: { readonly [K in HttpError['kind']]: ErrorCode } = {
  invalid: 'BAD_REQUEST',
  body_malformed: 'BAD_REQUEST',
  end_user_id_required: 'BAD_REQUEST',
  principal_invalid: 'BAD_REQUEST',

  unauthorized: 'UNAUTHORIZED',
  cron_unauthorized: 'UNAUTHORIZED',
  operator_unauthorized: 'UNAUTHORIZED',
  metrics_unauthorized: 'UNAUTHORIZED',
  run_token_invalid: 'UNAUTHORIZED',
  forbidden: 'FORBIDDEN',
  access_restricted: 'FORBIDDEN',
  project_required: 'FORBIDDEN',
  platform_key_required: 'UNAUTHORIZED',
  origin_refused: 'FORBIDDEN',
  input_restricted: 'FORBIDDEN',

  route_not_found: 'NOT_FOUND',
  event_not_found: 'NOT_FOUND',
  agent_not_found: 'NOT_FOUND',
  message_not_found: 'NOT_FOUND',
  input_not_found: 'NOT_FOUND',
  webhook_not_found: 'NOT_FOUND',
  session_not_found: 'NOT_FOUND',
  delivery_not_found: 'NOT_FOUND',
  recovery_not_found: 'NOT_FOUND',
  key_not_found: 'NOT_FOUND',
  event_type_not_found: 'NOT_FOUND',
  portal_not_found: 'NOT_FOUND',
  portal_off: 'NOT_FOUND',
  project_not_found: 'NOT_FOUND',
  method_not_allowed: 'METHOD_NOT_ALLOWED',
  event_cursor_expired: 'GONE',

  agent_not_running: 'AGENT_NOT_RUNNING',
  agent_not_stopped: 'CONFLICT',
  agent_busy: 'CONFLICT',
  session_busy: 'CONFLICT',
  name_taken: 'CONFLICT',
  key_taken: 'CONFLICT',
  too_many_keys: 'CONFLICT',
  event_type_taken: 'CONFLICT',
  too_many_event_types: 'CONFLICT',
  too_many_portals: 'CONFLICT',
  too_many_agents: 'CONFLICT',
  too_many_webhooks: 'CONFLICT',
  webhook_disabled: 'CONFLICT',
  delivery_busy: 'CONFLICT',
  delivery_final: 'CONFLICT',
  recovery_final: 'CONFLICT',
  recovery_not_paused: 'CONFLICT',
  input_closed: 'CONFLICT',
  message_final: 'CONFLICT',
  message_not_retryable: 'CONFLICT',
  run_superseded: 'CONFLICT',
  idempotency_mismatch: 'IDEMPOTENCY_MISMATCH',

  body_too_large: 'PAYLOAD_TOO_LARGE',
  media_type_unsupported: 'UNSUPPORTED_MEDIA_TYPE',
  session_full: 'TOO_MANY_REQUESTS',
  rate_limited: 'TOO_MANY_REQUESTS',
  too_many_recoveries: 'TOO_MANY_REQUESTS',
  too_many_streams: 'TOO_MANY_REQUESTS',
  internal: 'INTERNAL_ERROR',
  body_consumed: 'INTERNAL_ERROR',
  unavailable: 'UNAVAILABLE',
  login_unavailable: 'UNAVAILABLE',
}

const send = (what: string, as: string): ErrorWords => [
  `Send ${what} as "Authorization: Bearer <${as}>"`,
]

/** The words for errors that core does not have, and for credentials. */
const words: ByKind<RequestError, ErrorWords> & Partial<ByKind<ServiceError, ErrorWords>> = {
  body_malformed: ({ reason }) => [`The body ${reason}`],
  unauthorized: send('a valid API key or session token', 'key or token'),
  cron_unauthorized: send('the cron secret', 'CRON_SECRET'),
  operator_unauthorized: send('the operator key', 'operator key'),
  platform_key_required: send('a platform key', 'platform key'),
  metrics_unauthorized: send('the metrics token', 'token'),
  run_token_invalid: send('the run token of this message', 'run token'),
  forbidden: ({ permissions }) => [`The caller lacks the permission ${permissions.join(' or ')}`],
  origin_refused: [
    'Web pages of this origin cannot send this request',
    'The host can name the origin in `cors`',
  ],
  login_unavailable: [
    'The login of the host has failed or not answered in time',
    'Try again later',
  ],
  route_not_found: ['No such route'],
  portal_off: [
    'This server has no portal',
    'Its operator turns it on with SERVICE_CONSOLE=on and SERVICE_PUBLIC_URL',
  ],
  method_not_allowed: ({ allow }) => [`This path accepts ${allow.join(', ')}`],
  body_too_large: ({ maxBytes }) => [`The body must have at most ${maxBytes} bytes`],
  media_type_unsupported: ({ reason }) => [reason],
  internal: ['The service failed unexpectedly'],
  body_consumed: [
    'The body was read before it reached this app',
    'Mount the app before body parsers such as express.json()',
  ],
}

/** The answer to an error in any protocol. `retryAfterSeconds` is set if a later try can succeed. */
export type Refusal = {
  readonly code: ErrorCode
  readonly status: (typeof errorCodes)[ErrorCode]['status']
  readonly message: string
  readonly retryAfterSeconds: number | undefined
}

export function refusalOf(error: HttpError): Refusal {
  const code = codeByKind[error.kind]
  const { status } = errorCodes[code]
  const told = entryFor<HttpError, ErrorWords>(words, error) ?? wordsOf(error as ServiceError)
  return { code, status, message: told.join('. '), retryAfterSeconds: retryAfterOf(error, status) }
}

function retryAfterOf(error: HttpError, status: number): number | undefined {
  if (error.kind === 'rate_limited')
    return secondsOf(Math.max(...error.levels.map(({ retryInMs }) => retryInMs)))
  if ('retryInMs' in error && error.retryInMs !== undefined) return secondsOf(error.retryInMs)
  return status === 429 || status === 503 ? 1 : undefined
}

const secondsOf = (ms: number): number => Math.max(1, Math.ceil(ms / 1_000))

/** The headers that explain a refusal. */
export const refusalHeaders = ({
  status,
  retryAfterSeconds,
}: Pick<Refusal, 'retryAfterSeconds'> & { readonly status: number }): Record<string, string> => ({
  ...(status === 401 && { 'WWW-Authenticate': 'Bearer' }),
  ...(retryAfterSeconds !== undefined && { 'Retry-After': String(retryAfterSeconds) }),
})
