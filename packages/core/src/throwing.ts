import type { Result, ResultAsync } from 'neverthrow'
import { CLOSED, textOfReason } from './ports/stored.js'
import type { MessagingService } from './service.js'

type ErrorOf<F> = F extends (...input: never[]) => ResultAsync<unknown, infer E> ? E : never
type ErrorsOf<Group> = Group extends object
  ? { [K in keyof Group]-?: ErrorOf<Group[K]> }[keyof Group]
  : never

/** Every error that a call of the service returns. */
export type ServiceError = ErrorsOf<MessagingService | MessagingService[keyof MessagingService]>

/**
 * A refused call. `kind` and `details` come from the error of the Result. `stopped` is a call after
 * the stop of the service, when its storage is closed.
 */
export class MessagingError extends Error {
  override readonly name = 'MessagingError'
  readonly kind: ServiceError['kind'] | 'stopped'
  readonly details: ServiceError

  constructor(details: ServiceError) {
    super(messageOf(details))
    this.kind = isStopped(details) ? 'stopped' : details.kind
    this.details = details
  }
}

type Thrown<F> = F extends (...input: infer Input) => ResultAsync<infer Value, unknown>
  ? (...input: Input) => Promise<Value>
  : F
type ThrowingGroup<Group> = Group extends (...input: never[]) => unknown
  ? Thrown<Group>
  : { readonly [K in keyof Group]: Thrown<Group[K]> }

/** The service, with methods that return the value or throw a `MessagingError`. */
export type ThrowingService = {
  readonly [K in keyof MessagingService]: ThrowingGroup<MessagingService[K]>
}

/**
 * Turns the Results of a service into values and exceptions. Calls that return no Result stay as
 * they are.
 */
export function throwing(service: MessagingService): ThrowingService {
  const groups = Object.entries(service).map(([name, group]) => [name, throwingGroup(name, group)])
  return Object.fromEntries(groups) as ThrowingService
}

function throwingGroup(name: string, group: unknown): unknown {
  if (typeof group === 'function') return throwingCall(group as Call)
  if (name === 'policy') return group
  const calls = Object.entries(group as Readonly<Record<string, Call>>)
  return Object.fromEntries(calls.map(([method, call]) => [method, throwingCall(call)]))
}

type Call = (...input: unknown[]) => unknown

const throwingCall =
  (call: Call): Call =>
  (...input) => {
    const returned = call(...input)
    return isResultAsync(returned) ? valueOf(returned) : returned
  }

async function valueOf(pending: ResultAsync<unknown, ServiceError>): Promise<unknown> {
  const result: Result<unknown, ServiceError> = await pending
  if (result.isErr()) throw new MessagingError(result.error)
  return result.value
}

/** By its shape: a host can have another copy of neverthrow. */
const isResultAsync = (value: unknown): value is ResultAsync<unknown, ServiceError> =>
  typeof value === 'object' && value !== null && 'andThen' in value && 'then' in value

const isStopped = (error: ServiceError): boolean =>
  error.kind === 'unavailable' && error.reason === CLOSED

const messageOf = (error: ServiceError): string => {
  if (isStopped(error)) return 'The service has stopped. Create a new one.'
  switch (error.kind) {
    case 'invalid':
      return error.issues.map(({ path, message }) => `${path} ${message}`).join('; ')
    case 'principal_invalid':
      return `executionPrincipal is invalid: ${error.reason}`
    case 'agent_not_running':
      return `The agent is not running: its state is ${error.state}.`
    case 'unavailable':
      return textOfReason(error) ?? `The storage is unavailable: ${error.reason}`
    default:
      return MESSAGES[error.kind]
  }
}

type Simple = Exclude<
  ServiceError['kind'],
  'invalid' | 'principal_invalid' | 'agent_not_running' | 'unavailable'
>

const MESSAGES: { readonly [K in Simple]: string } = {
  end_user_id_required: 'endUserId is required when the agent default principal is end_user',
  agent_not_found: 'The project has no such agent.',
  agent_not_stopped: 'Stop the agent before you change its runtime.',
  agent_busy: 'The agent has open messages. Pass force to delete it with them.',
  name_taken: 'Another agent of the project has this name.',
  too_many_agents: 'The project has reached its limit of agents.',
  message_not_found: 'The agent has no such message.',
  message_final: 'The message is final and cannot be cancelled.',
  message_not_retryable: 'Only a failed or cancelled message can be retried.',
  input_not_found: 'The message has no such question.',
  input_closed: 'The question has another answer, or its message no longer waits.',
  input_restricted: 'Only the principal of the message can answer this question.',
  rate_limited: 'The limit of sends is reached. Send again later.',
  session_full: 'Too many messages of this session are waiting. Send again later.',
  idempotency_mismatch: 'The idempotency key belongs to another request.',
  session_not_found: 'The agent has no such session.',
  session_busy: 'The session has open messages. Pass force to erase it with them.',
  too_many_streams: 'The project has reached its limit of open streams.',
  run_token_invalid: 'The run token does not belong to this message.',
  run_superseded: 'Another run has replaced this one, or the message has its answer.',
  webhook_not_found: 'The project has no such webhook.',
  webhook_disabled: 'The webhook is disabled. Enable it first.',
  too_many_webhooks: 'The project has reached its limit of webhooks.',
  event_cursor_expired:
    'The cursor has expired: events after it were purged, or a backup was restored. Read again without a cursor.',
  delivery_not_found: 'The project has no such delivery.',
  delivery_busy: 'The delivery is being sent now. Try again after the attempt.',
  delivery_final: 'The delivery is final and cannot be cancelled or skipped.',
  recovery_not_found: 'The project has no such recovery.',
  recovery_final: 'The recovery has ended and cannot be cancelled.',
  too_many_recoveries: 'The project has reached its limit of running recoveries.',
  project_not_found: 'There is no such project.',
  key_not_found: 'The project has no such API key.',
  key_taken: 'This API key exists already.',
  too_many_keys: 'The project has reached its limit of API keys. Revoke one.',
  portal_not_found: 'The project has no such portal link, or the link cannot be opened.',
  too_many_portals: 'The project has reached its limit of portal sessions. End one.',
  unauthorized: 'The API key is not valid.',
}
