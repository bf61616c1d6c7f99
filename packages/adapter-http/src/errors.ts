import type { Issue, MessagingService, Permission } from '@org/agent-messaging-core'
import type { Context } from 'hono'
import type { ResultAsync } from 'neverthrow'
import { reply } from './answer.js'
import type { Env } from './env.js'
import { statuses, type ErrorBody, type ErrorCode } from './wire/error.js'

/** What a use case of the service may refuse with: read off its signatures, so that a new kind does not compile here until it has an answer. */
type ErrorOf<F> = F extends (...input: never[]) => ResultAsync<unknown, infer E> ? E : never
type ErrorsIn<Group> = Group extends unknown
  ? { [Name in keyof Group]: ErrorOf<Group[Name]> }[keyof Group]
  : never
type ServiceError = ErrorsIn<
  MessagingService[Extract<
    keyof MessagingService,
    'messages' | 'sessions' | 'principals' | 'agents' | 'webhooks' | 'deliveries' | 'keys'
  >]
>

/** What is refused before any use case is asked. */
type RequestError =
  | { readonly kind: 'forbidden'; readonly permission: Permission }
  | {
      readonly kind:
        | 'cron_unauthorized'
        | 'metrics_unauthorized'
        | 'route_not_found'
        | 'event_not_found'
        | 'internal'
        | 'body_consumed'
    }
  | { readonly kind: 'method_not_allowed'; readonly allow: readonly string[] }
  | { readonly kind: 'body_too_large'; readonly maxBytes: number }
  | { readonly kind: 'media_type_unsupported' | 'body_malformed'; readonly reason: string }

export type HttpError = ServiceError | RequestError

type Refusal = {
  readonly code: ErrorCode
  readonly message: string
  readonly issues?: readonly Issue[]
  readonly headers?: Readonly<Record<string, string>>
}

const SOON = { 'Retry-After': '1' }
const CHALLENGE = { 'WWW-Authenticate': 'Bearer' }
/** S§7 has these words. */
const END_USER_ID_REQUIRED = 'endUserId is required when the agent default principal is end_user'

/** Every error there is and what the caller gets for it: the one place where errors become HTTP. */
const refusals: { readonly [K in HttpError['kind']]: (error: HttpError & { kind: K }) => Refusal } =
  {
    invalid: ({ issues }) =>
      badRequest(issues.map(({ path, message }) => `${path} ${message}`).join('; '), issues),
    body_malformed: ({ reason }) => badRequest(`The body ${reason}`),
    end_user_id_required: () =>
      badRequest(END_USER_ID_REQUIRED, [
        { path: 'executionPrincipal.endUserId', message: 'is required' },
      ]),
    principal_invalid: ({ reason, endUserIdMissing }) =>
      badRequest(
        `executionPrincipal is invalid: ${reason}${endUserIdMissing ? `; ${END_USER_ID_REQUIRED}` : ''}`,
        [{ path: 'executionPrincipal', message: reason }],
      ),

    unauthorized: () => unauthorized('Send a valid API key as "Authorization: Bearer <API key>"'),
    cron_unauthorized: () =>
      unauthorized('Send the cron secret as "Authorization: Bearer <CRON_SECRET>"'),
    metrics_unauthorized: () =>
      unauthorized('Send the metrics token as "Authorization: Bearer <token>"'),
    run_token_invalid: () =>
      unauthorized('Send the run token of this message as "Authorization: Bearer <run token>"'),
    forbidden: ({ permission }) => ({
      code: 'FORBIDDEN',
      message: `The API key lacks the permission ${permission}`,
    }),

    route_not_found: () => notFound('There is nothing at this path'),
    event_not_found: () => notFound('No event has this name'),
    agent_not_found: () => notFound('No such agent'),
    message_not_found: () => notFound('No such message'),
    webhook_disabled: () => conflict('The webhook is disabled'),
    webhook_not_found: () => notFound('No such webhook'),
    session_not_found: () => notFound('No such session'),
    delivery_not_found: () => notFound('No such delivery'),
    key_not_found: () => notFound('No such API key'),
    project_not_found: () => notFound('No such project'),
    method_not_allowed: ({ allow }) => ({
      ...{ code: 'METHOD_NOT_ALLOWED', message: `This path takes ${allow.join(', ')}` },
      headers: { Allow: allow.join(', ') },
    }),

    agent_not_running: ({ state, retryInMs }) => ({
      ...{
        code: 'AGENT_NOT_RUNNING',
        message: `The agent is not running${state === 'running' ? '' : `: it is in state ${state}${whatToDo(state, retryInMs !== undefined)}`}`,
      },
      ...(retryInMs !== undefined && {
        headers: { 'Retry-After': String(Math.ceil(retryInMs / 1_000)) },
      }),
    }),
    agent_not_stopped: () => conflict('The runtime can only be changed while the agent is stopped'),
    agent_busy: () =>
      conflict('The agent has messages that are not final; ?force=true deletes them with it'),
    name_taken: () => conflict('Another agent of the project has this name'),
    key_taken: () => conflict('This API key exists already'),
    too_many_keys: () =>
      conflict('The project has as many good API keys as it may have; revoke one'),
    too_many_agents: () => conflict('The project has as many agents as it may have'),
    too_many_webhooks: () => conflict('The project has as many webhooks as it may have'),
    delivery_busy: () => conflict('The delivery is being sent at this moment'),
    message_final: () => conflict('The message is final: there is nothing left to cancel'),
    message_not_retryable: () =>
      conflict('Only a message that failed or was cancelled can be retried'),
    session_busy: () =>
      conflict('The session has messages that are not final; ?force=true erases them with it'),
    delivery_final: () => conflict('The delivery is final: there is nothing left to cancel'),
    run_superseded: () => conflict('This run was superseded, or its message has another answer'),
    idempotency_mismatch: () => ({
      code: 'IDEMPOTENCY_MISMATCH',
      message: 'The Idempotency-Key was used with another request',
    }),

    body_too_large: ({ maxBytes }) => ({
      code: 'PAYLOAD_TOO_LARGE',
      message: `The body may have at most ${maxBytes} bytes`,
    }),
    media_type_unsupported: ({ reason }) => ({ code: 'UNSUPPORTED_MEDIA_TYPE', message: reason }),
    session_full: () => ({
      code: 'TOO_MANY_REQUESTS',
      message: 'Too many messages of this session are waiting',
      headers: SOON,
    }),

    too_many_streams: () => ({
      code: 'TOO_MANY_REQUESTS',
      message: 'The project has as many streams open as it may have',
      headers: SOON,
    }),

    internal: () => ({ code: 'INTERNAL_ERROR', message: 'Something went wrong on our side' }),
    body_consumed: () => ({
      code: 'INTERNAL_ERROR',
      message:
        'The body was read before it reached this app: mount it in front of body parsers such as express.json()',
    }),
    unavailable: () => ({
      code: 'UNAVAILABLE',
      message: 'The service cannot reach its storage at the moment',
      headers: SOON,
    }),
  }

/** What the caller gets for an error. */
export function refusalOf(error: HttpError): Refusal {
  // Each entry takes the error of its own kind, which TypeScript cannot follow through the look-up.
  const describe = refusals[error.kind] as (error: HttpError) => Refusal
  return describe(error)
}

/** Answers with an error. */
export function refuse(c: Context<Env>, error: HttpError) {
  const { code, message, issues, headers } = refusalOf(error)
  c.set('refusal', {
    errorCode: code,
    ...(error.kind === 'unavailable' && { reason: error.reason }),
  })
  const body: ErrorBody = {
    error: { code, message, ...(issues && { issues }) },
    requestId: c.get('requestId'),
  }
  return reply(c, statuses[code], body, headers)
}

const whatToDo = (state: string, comesBack: boolean): string => {
  if (state === 'stopped' && !comesBack) return '; POST /v1/agents/:id/start starts it'
  return state === 'error' ? '; GET /v1/agents/:id says why' : ''
}

const badRequest = (message: string, issues?: readonly Issue[]): Refusal => ({
  code: 'BAD_REQUEST',
  message,
  ...(issues && { issues }),
})
const unauthorized = (message: string): Refusal => ({
  code: 'UNAUTHORIZED',
  message,
  headers: CHALLENGE,
})
const notFound = (message: string): Refusal => ({ code: 'NOT_FOUND', message })
const conflict = (message: string): Refusal => ({ code: 'CONFLICT', message })
