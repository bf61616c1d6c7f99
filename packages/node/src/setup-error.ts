import { MessagingError, type Invalid } from '@org/agent-messaging-core'
import { errorIn } from '@org/agent-messaging-core/host'
import type { Stored } from '@org/agent-messaging-core/storage'

/**
 * The service cannot be set up as it is configured. The message is for the person who runs the
 * program. As an exit code, 2 means invalid settings; 1 means any other failure.
 */
export class SetupError extends Error {
  override readonly name: string = 'SetupError'
  readonly exitCode: 1 | 2

  constructor(message: string, exitCode: 1 | 2 = 1) {
    super(message)
    this.exitCode = exitCode
  }
}

export type Failure = Partial<Pick<Invalid, 'issues'>> & {
  readonly kind: string
  readonly reason?: string
  /** The declared agent that was refused. */
  readonly agent?: string
}

/** Returns the value of a call, or throws the exception that `failed` makes of its error. */
export const valueOr = <T>(call: Promise<T>, failed: (error: Failure) => Error): Promise<T> =>
  call.catch((thrown) => {
    throw failed(errorIn(thrown))
  })

/** Returns the value that a storage answers, or rejects as a call of the service does. */
export async function valueOf<T>(stored: Stored<T>): Promise<T> {
  const answer = await stored
  if (answer.ok) return answer.value
  throw new MessagingError(answer.error)
}

/** Returns the value, or throws a `SetupError` of the form `<failure>: <reason>`. */
export const valueOrSetupError = <T>(call: Promise<T>, failure: string): Promise<T> =>
  valueOr(call, (error) => new SetupError(`${failure}: ${reasonOf(error)}`))

/** An error without its own words has a kind such as `name_taken`. */
export const reasonOf = ({ kind, reason, issues }: Failure): string =>
  issues?.map(({ path, message }) => `${path} ${message}`).join('; ') ??
  reason ??
  kind.replaceAll('_', ' ')
