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
  if ('issues' in failure)
    return failure.issues
      .map(({ path, message }) => `${path} ${message}${hintOn(message)}`)
      .join('; ')
  if ('reason' in failure && failure.reason !== undefined) return failure.reason
  if (failure.kind === 'agent_not_stopped')
    return 'its runtime can only be changed while it is stopped'
  if (failure.kind === 'too_many_keys')
    return 'the project has as many good keys as it may have; `keys revoke` ends one, and `keys list` shows them'
  const [, missing] = /^(.*)_not_found$/.exec(failure.kind) ?? []
  return missing === undefined
    ? failure.kind.replaceAll('_', ' ')
    : `there is no such ${missing.replaceAll('_', ' ')}`
}

/** What only an operator can do about what a caller of the API is told in the same words. */
function hintOn(message: string): string {
  if (/private or reserved address/.test(message))
    return ' (SERVICE_WEBHOOK_ALLOWED_CIDRS allows some)'
  return /^(?:handler|program) must be one of/.test(message)
    ? ' (--agents <file> adds others, here and when the server is started)'
    : ''
}
