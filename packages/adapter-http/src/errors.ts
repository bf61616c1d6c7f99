import type { Issue, MessagingService, Permission } from '@org/agent-messaging-core'
import { retrySecondsOf, textOf } from '@org/agent-messaging-core/runtime'
import type { Context } from 'hono'
import type { ContentfulStatusCode } from 'hono/utils/http-status'
import type { ResultAsync } from 'neverthrow'
import { reply, type JsonAnswer } from './answer.js'
import type { Env } from './env.js'
import { errorAnchor } from './wire/error-help.js'
import { statuses, type ErrorBody, type ErrorCode } from './wire/error.js'
import { rateLimitHeaders, retryAfterOf } from './wire/send-limits.js'

/**
 * The errors of the service's use cases, read off their signatures. A new kind must get an answer
 * here to compile.
 */
type ErrorOf<F> = F extends (...input: never[]) => ResultAsync<unknown, infer E> ? E : never
type ErrorsIn<Group> = Group extends unknown
  ? { [Name in keyof Group]: ErrorOf<Group[Name]> }[keyof Group]
  : never
type ServiceError = ErrorsIn<
  MessagingService[Extract<
    keyof MessagingService,
    | 'messages'
    | 'inputs'
    | 'sessions'
    | 'principals'
    | 'agents'
    | 'webhooks'
    | 'deliveries'
    | 'events'
    | 'recoveries'
    | 'keys'
    | 'portals'
    | 'projects'
    | 'auditLog'
    | 'usage'
  >]
>

/** Errors that the HTTP layer finds before it calls a use case. */
type RequestError =
  | { readonly kind: 'forbidden'; readonly permission: Permission }
  | {
      readonly kind:
        | 'cron_unauthorized'
        | 'operator_unauthorized'
        | 'metrics_unauthorized'
        | 'route_not_found'
        | 'event_not_found'
        | 'portal_off'
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

const RETRY_SOON = { 'Retry-After': '1' }
const CHALLENGE = { 'WWW-Authenticate': 'Bearer' }
/** Callers can compare this text, so it stays as it is. */
const END_USER_ID_REQUIRED = 'endUserId is required when the agent default principal is end_user'

/** The answer to every error. Errors become HTTP in this table and nowhere else. */
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
    operator_unauthorized: () =>
      unauthorized('Send the operator key as "Authorization: Bearer <operator key>"'),
    metrics_unauthorized: () =>
      unauthorized('Send the metrics token as "Authorization: Bearer <token>"'),
    run_token_invalid: () =>
      unauthorized('Send the run token of this message as "Authorization: Bearer <run token>"'),
    forbidden: ({ permission }) => ({
      code: 'FORBIDDEN',
      message: `The API key lacks the permission ${permission}`,
    }),

    input_restricted: () => ({
      code: 'FORBIDDEN',
      message: 'Only the principal of the message can answer this question',
    }),

    route_not_found: () => notFound('No such route'),
    event_not_found: () => notFound('No such event'),
    agent_not_found: () => notFound('No such agent'),
    message_not_found: () => notFound('No such message'),
    input_not_found: () => notFound('The message has no such question'),
    webhook_not_found: () => notFound('No such webhook'),
    session_not_found: () => notFound('No such session'),
    delivery_not_found: () => notFound('No such delivery'),
    recovery_not_found: () => notFound('No such recovery'),
    key_not_found: () => notFound('No such API key'),
    portal_not_found: () => notFound('No such portal link'),
    portal_off: () =>
      notFound(
        'This server has no portal. Its operator turns it on with SERVICE_CONSOLE=on and SERVICE_PUBLIC_URL',
      ),
    project_not_found: () => notFound('No such project'),
    method_not_allowed: ({ allow }) => ({
      code: 'METHOD_NOT_ALLOWED',
      message: `This path accepts ${allow.join(', ')}`,
      headers: { Allow: allow.join(', ') },
    }),

    event_cursor_expired: () => ({
      code: 'GONE',
      message:
        'The cursor has expired: events after it were purged, or a backup was restored. Read again without `after`',
    }),
    agent_not_running: ({ state, retryInMs }) => ({
      code: 'AGENT_NOT_RUNNING',
      message: `The agent is not running${stateAndAdvice(state, retryInMs !== undefined)}`,
      ...(retryInMs !== undefined && {
        headers: { 'Retry-After': String(Math.ceil(retryInMs / 1_000)) },
      }),
    }),
    agent_not_stopped: () => conflict('Stop the agent before you change its runtime'),
    agent_busy: () =>
      conflict('The agent has messages that are not final. ?force=true deletes them too'),
    name_taken: () => conflict('Another agent of the project has this name'),
    key_taken: () => conflict('This API key already exists'),
    too_many_keys: () =>
      conflict('The project has reached its limit of active API keys. Revoke one first'),
    too_many_portals: () =>
      conflict('The project has reached its limit of portal sessions. Delete a link first'),
    too_many_agents: () =>
      conflict('The project has reached its limit of agents. Delete one first'),
    too_many_webhooks: () =>
      conflict('The project has reached its limit of webhooks. Delete one first'),
    webhook_disabled: () => conflict('The webhook is disabled. Enable it first'),
    delivery_busy: () => conflict('The delivery is being sent now. Try again later'),
    delivery_final: () => conflict('The delivery is final and cannot be cancelled or skipped'),
    recovery_final: () => conflict('The recovery has ended and cannot be cancelled'),
    input_closed: () => conflict('The question has another answer, or its message no longer waits'),
    message_final: () => conflict('The message is final and cannot be cancelled'),
    message_not_retryable: () => conflict('Only a failed or cancelled message can be retried'),
    session_busy: () =>
      conflict('The session has messages that are not final. ?force=true erases them too'),
    run_superseded: () =>
      conflict('A newer run replaced this run, or the message already has another answer'),
    idempotency_mismatch: () => ({
      code: 'IDEMPOTENCY_MISMATCH',
      message: 'The Idempotency-Key was already used with a different request',
    }),

    body_too_large: ({ maxBytes }) => ({
      code: 'PAYLOAD_TOO_LARGE',
      message: `The body must have at most ${maxBytes} bytes`,
    }),
    media_type_unsupported: ({ reason }) => ({ code: 'UNSUPPORTED_MEDIA_TYPE', message: reason }),
    session_full: () =>
      tooManyRequests('Too many messages of this session are waiting. Try again later'),
    rate_limited: ({ levels }) => ({
      code: 'TOO_MANY_REQUESTS',
      message: `The limit of sends of this ${levels.find(({ remaining }) => remaining === 0)?.of ?? 'project'} is reached`,
      headers: { ...rateLimitHeaders(levels), 'Retry-After': String(retryAfterOf(levels)) },
    }),
    too_many_recoveries: () =>
      tooManyRequests(
        'The project has reached its limit of running recoveries. Wait, or cancel one',
      ),
    too_many_streams: () =>
      tooManyRequests('The project has reached its limit of open streams. Close one first'),

    internal: () => ({ code: 'INTERNAL_ERROR', message: 'The service failed unexpectedly' }),
    body_consumed: () => ({
      code: 'INTERNAL_ERROR',
      message:
        'The body was read before it reached this app. Mount the app before body parsers such ' +
        'as express.json()',
    }),
    unavailable: (error) => ({
      code: 'UNAVAILABLE',
      message: textOf(error),
      headers: { 'Retry-After': String(retrySecondsOf(error)) },
    }),
  }

/** Returns the answer to an error. */
export function refusalOf(error: HttpError): Refusal {
  // TypeScript cannot see that each entry gets an error of the matching kind.
  const describe = refusals[error.kind] as (error: HttpError) => Refusal
  return describe(error)
}

const ROOTS =
  /\/(?:v1|api\/cron\/webhooks|healthz|readyz|metrics|openapi\.json|docs|schemas|inputs)(?:\/|$)/

/** Returns the path of the app, for links to its own pages. */
const mountPathOf = ({ req }: Context<Env>): string =>
  encodeURI(req.path.slice(0, Math.max(0, req.path.search(ROOTS))))

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
  const help = `<${c.get('basePath') ?? mountPathOf(c)}/docs#${errorAnchor(code)}>; rel="help"`
  return reply(c, statuses[code], body, { Link: help, ...headers })
}

/** Answers with the value of a use case as `bodyOf` shows it, or with its error. */
export const answer = <T, E extends HttpError, S extends ContentfulStatusCode, B>(
  c: Context<Env>,
  status: S,
  result: ResultAsync<T, E>,
  bodyOf: (value: T) => B,
): Promise<JsonAnswer<B, S> | ReturnType<typeof refuse>> =>
  result.match(
    (value) => reply(c, status, bodyOf(value)),
    (error) => refuse(c, error),
  )

function stateAndAdvice(state: string, isStarting: boolean): string {
  if (state === 'running') return ''
  if (state === 'stopped' && !isStarting)
    return ': its state is stopped. Start it with POST /v1/agents/:id/start'
  const advice = state === 'error' ? '. GET /v1/agents/:id shows the reason' : ''
  return `: its state is ${state}${advice}`
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
const tooManyRequests = (message: string): Refusal => ({
  code: 'TOO_MANY_REQUESTS',
  message,
  headers: RETRY_SOON,
})
