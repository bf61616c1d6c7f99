import type { ResultAsync } from 'neverthrow'
import type { Invalid } from '@org/agent-messaging-core'

/** What stops a start or a command, told to the operator in lines without a stack. Exit code 2: what was asked or set is wrong. */
export class OperatorError extends Error {
  override readonly name = 'OperatorError'
  readonly exitCode: 1 | 2

  constructor(message: string, exitCode: 1 | 2 = 1) {
    super(message)
    this.exitCode = exitCode
  }
}

type Failure = Invalid | { readonly kind: string; readonly reason?: string }

/** The value, or an OperatorError that says what could not be done and why. */
export async function orFail<T>(result: ResultAsync<T, Failure>, what: string): Promise<T> {
  const settled = await result
  if (settled.isOk()) return settled.value
  throw new OperatorError(`${what}: ${reasonOf(settled.error)}`)
}

function reasonOf(failure: Failure): string {
  if ('issues' in failure) return failure.issues.map(({ path, message }) => `${path} ${message}`).join('; ')
  return 'reason' in failure && failure.reason !== undefined ? failure.reason : failure.kind.replaceAll('_', ' ')
}
