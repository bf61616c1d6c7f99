import { SetupError } from '@org/agent-messaging-node/wiring'
import type { Invalid } from '@org/agent-messaging-core'
import type { ResultAsync } from 'neverthrow'

/** Ends a start or a command with a message for the operator, without a stack trace. */
export class OperatorError extends SetupError {
  override readonly name = 'OperatorError'
}

type Failure = Invalid | { readonly kind: string; readonly reason?: string }

/** Returns the value, or throws an OperatorError of the form `<failure>: <reason>`. */
export async function orFail<T>(result: ResultAsync<T, Failure>, failure: string): Promise<T> {
  const settled = await result
  if (settled.isOk()) return settled.value
  throw new OperatorError(`${failure}: ${reasonOf(settled.error)}`)
}

function reasonOf(failure: Failure) {
  if ('issues' in failure) return textOfIssues(failure.issues)
  if ('reason' in failure && failure.reason !== undefined) return failure.reason
  if (failure.kind === 'agent_not_stopped') return 'stop the agent before you change its runtime'
  if (failure.kind === 'too_many_keys')
    return 'the project has the maximum number of valid keys; see `keys list` and `keys revoke`'
  return failure.kind.replaceAll('_', ' ') // such as `agent not found`
}

export const textOfIssues = (issues: Invalid['issues']): string =>
  issues.map(({ path, message }) => `${path} ${message}${hintFor(message)}`).join('; ')

/** The setting or option with which an operator can avoid the error. */
function hintFor(message: string): string {
  if (/private or reserved address/.test(message)) return ' (see SERVICE_WEBHOOK_ALLOWED_CIDRS)'
  return /^(?:handler|program) must be one of/.test(message)
    ? ' (add others with --agents <file>, here and at server start)'
    : ''
}
