import type { ErrorOf } from './answer.js'
import type { InputFacts } from './domain/messages/message-input.js'
import type { RunError } from './domain/messages/run.js'
import { OVERLOAD, UNCONFIRMED } from './ports/stored.js'
import type { MessagingService } from './messaging-service.js'

type ErrorOfCall<F> = F extends (...input: never[]) => infer Found ? ErrorOf<Found> : never
type ErrorsOf<Group> = Group extends object
  ? { [K in keyof Group]-?: ErrorOfCall<Group[K]> }[keyof Group]
  : never

/** Every error that a call of the service rejects with. */
export type ServiceError = ErrorsOf<MessagingService | MessagingService[keyof MessagingService]>

/** Why `ask` has no answer. The agent goes on if there is none yet. */
export type NoAnswer =
  | { readonly kind: 'message_failed'; readonly messageId: string; readonly error: RunError }
  | { readonly kind: 'message_cancelled' | 'no_answer_yet'; readonly messageId: string }
  | { readonly kind: 'input_required'; readonly messageId: string; readonly input: InputFacts }

/** What is wrong, and what the caller can do. Neither ends with a full stop. */
export type ErrorWords = readonly [sentence: string, remedy?: string]

type AnyError = { readonly kind: string }
/** An entry for each kind of error. An entry can depend on the error. */
export type ByKind<E extends AnyError, T> = {
  readonly [K in E['kind']]: T | ((error: E & { readonly kind: K }) => T)
}

/** Returns the entry for the error. */
export function entryFor<E extends AnyError, T>(
  entries: Partial<ByKind<E, T>>,
  error: E,
): T | undefined {
  const entry = entries[error.kind as E['kind']]
  // TypeScript cannot see that each entry gets an error of its kind.
  return typeof entry === 'function' ? (entry as (error: E) => T)(error) : (entry as T)
}

/** Callers can compare this text, so it stays as it is. */
const END_USER_ID_REQUIRED = 'endUserId is required when the agent default principal is end_user'

/** The reasons of `unavailable` that are not for the operator alone. */
const reasons: ReadonlyMap<string, ErrorWords> = new Map([
  [OVERLOAD, ['More requests arrive than the service can handle', 'Try again later']],
  [
    UNCONFIRMED,
    [
      'The storage has not confirmed the message in time, so the message may be stored',
      'Repeat the send with the same Idempotency-Key to find out',
    ],
  ],
])

/** The words for every error. A new kind must get words here to compile. */
const words: ByKind<ServiceError | NoAnswer, ErrorWords> = {
  invalid: ({ issues }) => [issues.map(({ path, message }) => `${path} ${message}`).join('; ')],
  end_user_id_required: [END_USER_ID_REQUIRED],
  principal_invalid: ({ reason, endUserIdMissing }) => [
    `executionPrincipal is invalid: ${reason}${endUserIdMissing ? `; ${END_USER_ID_REQUIRED}` : ''}`,
  ],
  unauthorized: ['The API key is not valid'],
  platform_key_required: ['Only a platform key can name a project in its path'],
  project_required: [
    'A platform key acts on one project at a time',
    'Name it in the path: /v1/projects/{id or externalId}/…',
  ],
  run_token_invalid: ['The run token does not belong to this message'],
  access_restricted: ({ field }) => [
    field === undefined
      ? 'The caller reaches only its own sessions, and cannot do this'
      : `${field} must be the end user of the caller`,
  ],
  input_restricted: ['Only the principal of the message can answer this question'],

  agent_not_found: ['No such agent'],
  message_not_found: ['No such message'],
  input_not_found: ['The message has no such question'],
  webhook_not_found: ['No such webhook'],
  event_type_not_found: ['No such event type'],
  event_not_found: ['No such event'],
  session_not_found: ['No such session, or the caller does not reach it'],
  delivery_not_found: ['No such delivery'],
  recovery_not_found: ['No such recovery'],
  key_not_found: ['No such API key'],
  portal_not_found: ['No such portal link'],
  project_not_found: ['No such project'],
  event_cursor_expired: [
    'The cursor has expired: events after it were purged, or a backup was restored',
    'Read again without `after`',
  ],

  agent_not_running: ({ state }) => [`The agent is not running: its state is ${state}`],
  agent_not_stopped: ['Stop the agent before you change its runtime'],
  agent_busy: ['The agent has messages that are not final', 'Pass `force` to delete them too'],
  session_busy: ['The session has messages that are not final', 'Pass `force` to erase them too'],
  name_taken: ['Another agent of the project has this name'],
  key_taken: ['This API key already exists'],
  too_many_keys: ['The project has reached its limit of active API keys', 'Revoke one first'],
  too_many_portals: ['The project has reached its limit of portal sessions', 'Delete a link first'],
  event_type_taken: ['The installation has an event type with this name'],
  too_many_event_types: ['The limit of event types is reached', 'Delete one first'],
  too_many_agents: ['The project has reached its limit of agents', 'Delete one first'],
  too_many_webhooks: ['The project has reached its limit of webhooks', 'Delete one first'],
  webhook_disabled: ['The webhook is disabled', 'Enable it first'],
  delivery_busy: ['The delivery is being sent now', 'Try again later'],
  delivery_final: ['The delivery is final and cannot be cancelled or skipped'],
  recovery_final: ['The recovery has found all matches and cannot be cancelled'],
  recovery_not_paused: ['The recovery is not paused, so it cannot continue'],
  input_closed: ['The question has another answer, or its message no longer waits'],
  message_final: ['The message is final and cannot be cancelled'],
  message_not_retryable: ['Only a failed or cancelled message can be retried'],
  run_superseded: ['A newer run replaced this run, or the message already has another answer'],
  idempotency_mismatch: ({ issues }) => [
    issues
      ? issues.map(({ path, message }) => `${path} ${message}`).join('; ')
      : 'The Idempotency-Key was already used with a different request',
  ],

  session_full: ['Too many messages of this session are waiting', 'Try again later'],
  rate_limited: ['The limit of sends is reached', 'Try again later'],
  too_many_recoveries: [
    'The project has reached its limit of running recoveries',
    'Wait, or cancel one',
  ],
  too_many_streams: [
    'The project or the caller has reached its limit of open streams',
    'Close one first',
  ],
  message_failed: ({ error }) => [`The agent did not answer: ${error.message}`],
  message_cancelled: ['The message was cancelled'],
  input_required: ({ input }) => [`The agent asks: ${input.question}`, 'Answer with inputs.answer'],
  no_answer_yet: ['The agent has not answered yet and continues', 'Read the message later'],
  unavailable: ({ reason }) =>
    reasons.get(reason) ?? ['The service cannot reach its storage', 'Try again later'],
}

export const wordsOf = (error: ServiceError | NoAnswer): ErrorWords =>
  entryFor(words, error) as ErrorWords

/** Puts the sentence and the remedy together. */
export const textOf = (error: ServiceError | NoAnswer): string => wordsOf(error).join('. ')

/** True for a reason that only the operator understands. */
export const isReasonOfStorage = ({ reason }: { readonly reason: string }): boolean =>
  !reasons.has(reason)
