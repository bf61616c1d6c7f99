import {
  A2AError,
  RequestMalformedError,
  TaskNotCancelableError,
  TaskNotFoundError,
  UnsupportedOperationError,
} from '@a2a-js/sdk/errors'
import { entryFor, OVERLOAD, errorIn, type ByKind } from '@org/agent-messaging-core/host'
import { refusalOf, type Requester, type HttpError } from '@org/agent-messaging-http-kit'

/**
 * An error that A2A has no class for. A client of JSON-RPC gets an internal error with `reason`.
 */
export class Refusal extends A2AError {
  readonly transport = 'rest'
  readonly statusCode: number
  readonly retryAfterSeconds: number | undefined
  override readonly reason: string

  constructor(statusCode: number, reason: string, message: string, retryAfterSeconds?: number) {
    super({ message })
    this.statusCode = statusCode
    this.reason = reason
    this.retryAfterSeconds = retryAfterSeconds
  }
}

export const interrupted = () =>
  new Refusal(
    503,
    'STREAM_INTERRUPTED',
    'The stream ended before the answer. The agent continues: subscribe to the task',
  )

/** What A2A says in other words than every protocol. */
const texts: Partial<ByKind<HttpError, string>> = {
  end_user_id_required:
    'The agent runs on behalf of an end user. Send the principal in the metadata of the message: ' +
    '{"executionPrincipal":{"type":"end_user","endUserId":"…"}}',
  principal_invalid: ({ reason }) => `metadata.executionPrincipal is invalid: ${reason}`,
  idempotency_mismatch: 'message.messageId was already used with a different message',
  route_not_found: 'This endpoint has no such route',
  agent_not_found: 'The project has no agent with this name that is published for A2A',
  message_not_found: 'The agent has no task with this id',
  message_final: 'The task is final and cannot be cancelled',
  input_not_found: 'metadata.inputId is not the id of a question of this task',
  input_closed: 'The question has another answer, or is closed',
  input_restricted: 'Only the principal of the task can answer. Send metadata.executionPrincipal',
  session_full: 'Too many messages of this context are waiting. Try again later',
  too_many_streams: 'The project or the caller has reached its limit of open streams',
}

/** The errors of A2A. Other invalid requests are malformed. */
const classes: { readonly [K in HttpError['kind']]?: new (message: string) => A2AError } = {
  idempotency_mismatch: RequestMalformedError,
  input_not_found: RequestMalformedError,
  message_not_found: TaskNotFoundError,
  message_final: TaskNotCancelableError,
  input_closed: UnsupportedOperationError,
}

/** Reasons that are not the kind of the error. */
const reasons: Partial<ByKind<HttpError, string | undefined>> = {
  unauthorized: 'UNAUTHENTICATED',
  input_restricted: 'FORBIDDEN',
  body_too_large: 'REQUEST_TOO_LARGE',
  internal: 'INTERNAL_ERROR',
  body_consumed: 'INTERNAL_ERROR',
  unavailable: ({ reason }) => (reason === OVERLOAD ? 'OVERLOADED' : undefined),
}

export function a2aError(error: HttpError): A2AError {
  const { kind } = error
  const { status, message, retryAfterSeconds } = refusalOf(error)
  const text = entryFor(texts, error) ?? message
  const Known = classes[kind] ?? (status === 400 ? RequestMalformedError : undefined)
  if (Known) return new Known(text)
  const reason = entryFor(reasons, error) ?? kind.toUpperCase()
  return new Refusal(kind === 'agent_not_running' ? 503 : status, reason, text, retryAfterSeconds)
}

/** Throws the refusal of a call as an error of A2A. */
export const rethrow = (thrown: unknown): never => {
  throw a2aError(errorIn(thrown))
}

/** Returns true if a recalled key is revoked. Ask before you refuse a request for another reason. */
export const isRevoked = async (access: Requester): Promise<boolean> =>
  (await access.confirm())?.kind === 'unauthorized'

/** Throws if a recalled key is revoked. Call it before everything except a send. */
export async function confirmKey(access: Requester): Promise<void> {
  if (await isRevoked(access)) throw a2aError({ kind: 'unauthorized' })
}
