import {
  A2AError,
  RequestMalformedError,
  TaskNotCancelableError,
  TaskNotFoundError,
  UnsupportedOperationError,
} from '@a2a-js/sdk/errors'
import type { MessagingService, Permission } from '@org/agent-messaging-core'
import { OVERLOAD, retrySecondsOf, textOf } from '@org/agent-messaging-core/runtime'
import type { ResultAsync } from 'neverthrow'

type ErrorOf<F> = F extends (...input: never[]) => ResultAsync<unknown, infer E> ? E : never
type Messages = MessagingService['messages']
/** The errors of the service's use cases, read off their signatures. */
export type ServiceError =
  | ErrorOf<Messages['send' | 'get' | 'list' | 'stream' | 'cancel']>
  | ErrorOf<MessagingService['agents']['get']>
  | ErrorOf<MessagingService['inputs']['answer']>
  | ErrorOf<MessagingService['hooks']['set' | 'list' | 'delete']>
  | ErrorOf<MessagingService['keys']['authenticate']>

/**
 * An error that A2A has no class for. A client of JSON-RPC gets an internal error with `reason`.
 */
export class Refusal extends A2AError {
  readonly transport = 'rest'
  readonly statusCode: number
  readonly retryAfterSeconds: number | undefined
  override readonly reason: string

  constructor(
    statusCode: number,
    { reason, message, retryAfterSeconds }: RefusalText & { readonly retryAfterSeconds?: number },
  ) {
    super({ message })
    this.statusCode = statusCode
    this.reason = reason
    this.retryAfterSeconds = retryAfterSeconds
  }
}
type RefusalText = { readonly reason: string; readonly message: string }

export const unauthorized = () =>
  new Refusal(401, {
    reason: 'UNAUTHENTICATED',
    message: 'Send a valid API key as "Authorization: Bearer <API key>"',
  })
export const forbidden = (permission: Permission) =>
  new Refusal(403, {
    reason: 'FORBIDDEN',
    message: `The API key lacks the permission ${permission}`,
  })
export const noAgent = () =>
  new Refusal(404, {
    reason: 'AGENT_NOT_FOUND',
    message: 'The project has no agent with this name that is published for A2A',
  })
export const noRoute = () =>
  new Refusal(404, { reason: 'ROUTE_NOT_FOUND', message: 'This endpoint has no such route' })
export const bodyTooLarge = (maxBytes: number) =>
  new Refusal(413, {
    reason: 'REQUEST_TOO_LARGE',
    message: `The body must have at most ${maxBytes} bytes`,
  })
export const interrupted = () =>
  new Refusal(503, {
    reason: 'STREAM_INTERRUPTED',
    message: 'The stream ended before the answer. The agent continues: subscribe to the task',
  })
export const internal = () =>
  new Refusal(500, { reason: 'INTERNAL_ERROR', message: 'The service failed unexpectedly' })

const overloaded = (reason: string, message: string, retryAfterSeconds = 1) =>
  new Refusal(429, { reason, message, retryAfterSeconds })

const END_USER =
  'The agent runs on behalf of an end user. Send the principal in the metadata of the message: ' +
  '{"executionPrincipal":{"type":"end_user","endUserId":"…"}}'

/** The A2A error of every error of the service. */
const errors: {
  readonly [K in ServiceError['kind']]: (error: ServiceError & { kind: K }) => A2AError
} = {
  invalid: ({ issues }) =>
    new RequestMalformedError(issues.map(({ path, message }) => `${path} ${message}`).join('; ')),
  end_user_id_required: () => new RequestMalformedError(END_USER),
  principal_invalid: ({ reason }) =>
    new RequestMalformedError(`metadata.executionPrincipal is invalid: ${reason}`),
  idempotency_mismatch: () =>
    new RequestMalformedError('message.messageId was already used with a different message'),
  unauthorized,
  agent_not_found: noAgent,
  message_not_found: () => new TaskNotFoundError('The agent has no task with this id'),
  message_final: () => new TaskNotCancelableError('The task is final and cannot be cancelled'),
  input_not_found: () =>
    new RequestMalformedError('metadata.inputId is not the id of a question of this task'),
  input_closed: () =>
    new UnsupportedOperationError('The question has another answer, or is closed'),
  input_restricted: () =>
    new Refusal(403, {
      reason: 'FORBIDDEN',
      message: 'Only the principal of the task can answer. Send metadata.executionPrincipal',
    }),
  agent_not_running: ({ state, retryInMs }) =>
    new Refusal(503, {
      reason: 'AGENT_NOT_RUNNING',
      message: `The agent is not running: its state is ${state}`,
      ...(retryInMs !== undefined && { retryAfterSeconds: Math.ceil(retryInMs / 1_000) }),
    }),
  rate_limited: ({ levels }) =>
    overloaded(
      'RATE_LIMITED',
      'The limit of sends is reached. Try again later',
      Math.ceil(Math.max(...levels.map(({ retryInMs }) => retryInMs)) / 1_000),
    ),
  session_full: () =>
    overloaded('SESSION_FULL', 'Too many messages of this context are waiting. Try again later'),
  too_many_streams: () =>
    overloaded('TOO_MANY_STREAMS', 'The project has reached its limit of open streams'),
  unavailable: (error) =>
    new Refusal(503, {
      reason: error.reason === OVERLOAD ? 'OVERLOADED' : 'UNAVAILABLE',
      message: textOf(error),
      retryAfterSeconds: retrySecondsOf(error),
    }),
}

export function a2aError(error: ServiceError): A2AError {
  // TypeScript cannot see that each entry gets an error of the matching kind.
  const describe = errors[error.kind] as (error: ServiceError) => A2AError
  return describe(error)
}
