import type { ResultAsync } from 'neverthrow'

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

export type Failure = { readonly kind: string; readonly reason?: string }

/** Returns the value, or throws a `SetupError` of the form `<failure>: <reason>`. */
export async function valueOrSetupError<T>(
  result: ResultAsync<T, Failure>,
  failure: string,
): Promise<T> {
  const settled = await result
  if (settled.isOk()) return settled.value
  const { kind, reason = kind.replaceAll('_', ' ') } = settled.error
  throw new SetupError(`${failure}: ${reason}`)
}
