import { MessagingError, type Invalid, type Unavailable } from '@org/agent-messaging-core'
import { errorIn } from '@org/agent-messaging-core/runtime'
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
/** A call of the service, or of its storage. */
export type Call<T> = Promise<T> | Stored<T>

/** Returns the value of a call, or throws the exception that `failed` makes of its error. */
export async function valueOr<T>(call: Call<T>, failed: (error: Failure) => Error): Promise<T> {
  const found = 'match' in call ? call.match((value) => value, raise) : call
  return found.catch((thrown) => {
    throw failed(errorIn(thrown))
  })
}

function raise(error: Unavailable): never {
  throw new MessagingError(error)
}

/** Returns the value, or throws a `SetupError` of the form `<failure>: <reason>`. */
export const valueOrSetupError = <T>(call: Call<T>, failure: string): Promise<T> =>
  valueOr(call, (error) => new SetupError(`${failure}: ${reasonOf(error)}`))

/** An error without its own words has a kind such as `name_taken`. */
export const reasonOf = ({ kind, reason, issues }: Failure): string =>
  issues?.map(({ path, message }) => `${path} ${message}`).join('; ') ??
  reason ??
  kind.replaceAll('_', ' ')
