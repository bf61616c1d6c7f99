import type { Result, ResultAsync } from 'neverthrow'
import { isReasonOfStorage, textOf, type ServiceError } from './errors.js'
import { CLOSED } from './ports/stored.js'
import type { MessagingService } from './messaging-service.js'

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

/** Unlike a caller of an API, the host learns why its storage is unavailable. */
const messageOf = (error: ServiceError): string => {
  if (isStopped(error)) return 'The service has stopped. Create a new one.'
  return error.kind === 'unavailable' && isReasonOfStorage(error)
    ? `The storage is unavailable: ${error.reason}`
    : textOf(error)
}
