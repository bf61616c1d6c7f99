import { err, ok, ResultAsync, type Result } from 'neverthrow'
import type { Answer } from './answer.js'
import { inputRules } from './call-rules.js'
import { isReasonOfStorage, textOf, type NoAnswer, type ServiceError } from './errors.js'
import { TurnQueue, type TurnLimits } from './pacing/turn-queue.js'
import type { Turn } from './pacing/waiting-turns.js'
import type { Clock } from './ports/platform.js'
import { CLOSED } from './ports/stored.js'
import type { MessagingService } from './messaging-service.js'

/**
 * A refused call. `details` has the fields of its kind. `stopped` is a call after the stop of the
 * service, when its storage is closed.
 */
export class MessagingError extends Error {
  override readonly name = 'MessagingError'
  readonly kind: (ServiceError | NoAnswer)['kind'] | 'stopped'
  readonly details: ServiceError | NoAnswer
  /** The message that `ask` has sent. */
  readonly messageId?: string

  constructor(details: ServiceError | NoAnswer, message: string = messageOf(details)) {
    super(message)
    if ('messageId' in details) this.messageId = details.messageId
    this.kind = isStopped(details) ? 'stopped' : details.kind
    this.details = details
  }
}

/** By its name, because a host can have two copies of this package. */
export const isRefusal = (thrown: unknown): thrown is MessagingError =>
  thrown instanceof Error && thrown.name === 'MessagingError'

/** Returns the error that a call was refused with. Throws any other exception. */
export function errorIn(thrown: unknown): ServiceError {
  if (!isRefusal(thrown)) throw thrown
  return thrown.details as ServiceError
}

/** Gives undefined for a call that was refused for this reason. */
export const unless =
  (kind: ServiceError['kind']) =>
  (thrown: unknown): undefined => {
    if (errorIn(thrown).kind !== kind) throw thrown
  }

/** Returns the value of a call, or undefined if it was refused. */
export const orUndefined = <T>(call: Promise<T>): Promise<T | undefined> =>
  call.catch((thrown) => void errorIn(thrown))

/** A call as its use case implements it. */
type ResultCall<F> = F extends (input: infer Input) => Answer<infer Value, infer Refused>
  ? unknown extends Refused
    ? F
    : (input: NonNullable<Input>) => ResultAsync<Value, Refused>
  : F
type ResultGroup<Group> = Group extends (...input: never[]) => unknown
  ? ResultCall<Group>
  : { readonly [K in keyof Group]: ResultCall<Group[K]> }

/** The service with the use cases, which return Results. */
type ResultService = { readonly [K in keyof MessagingService]: ResultGroup<MessagingService[K]> }

/** Turns the Results of the use cases into values and exceptions. */
export function throwing(service: ResultService): MessagingService {
  const groups = Object.entries(service).map(([name, group]) => [name, throwingGroup(name, group)])
  return Object.fromEntries(groups) as MessagingService
}

function throwingGroup(name: string, group: unknown): unknown {
  if (typeof group === 'function') return throwingCall(group as Call, inputRules(name))
  if (name === 'policy') return group
  const calls = Object.entries(group as Readonly<Record<string, Call>>)
  return Object.fromEntries(
    calls.map(([method, call]) => [method, throwingCall(call, inputRules(name, method))]),
  )
}

type Call = (input: unknown) => unknown

const throwingCall =
  (call: Call, problemOf: ReturnType<typeof inputRules>): Call =>
  (input = {}) => {
    const problem = problemOf?.(input)
    if (problem) return Promise.reject(new MessagingError(problem))
    const returned = call(input)
    return returned instanceof ResultAsync ? returned.then(valueOf) : returned
  }

export function valueOf<T>(result: Result<T, ServiceError>): T {
  if (result.isErr()) throw new MessagingError(result.error)
  return result.value
}

/**
 * Returns a function that makes work wait for its turn among the work of all groups. If too much
 * waits, the call rejects with a `MessagingError` of the kind `unavailable`.
 */
export function inTurn(
  clock: Clock,
  limits: TurnLimits,
): <T>(turn: Turn, work: () => Promise<T>) => Promise<T> {
  const queue = new TurnQueue(clock, limits)
  return async (turn, work) =>
    valueOf(
      await queue.run(turn, () =>
        work().then(
          (value) => ok(value),
          (thrown: unknown) => err(errorIn(thrown)),
        ),
      ),
    )
}

const isStopped = (error: ServiceError | NoAnswer): boolean =>
  error.kind === 'unavailable' && error.reason === CLOSED

/** Unlike a caller of an API, the host learns why its storage is unavailable. */
const messageOf = (error: ServiceError | NoAnswer): string => {
  if (isStopped(error)) return 'The service has stopped. Create a new one.'
  return error.kind === 'unavailable' && isReasonOfStorage(error)
    ? `The storage is unavailable: ${error.reason}`
    : textOf(error)
}
