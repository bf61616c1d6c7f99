import { SetupError, valueOr } from '@org/agent-messaging-node/wiring'
import type { Invalid } from '@org/agent-messaging-core'

/** Ends a start or a command with a message for the operator, without a stack trace. */
export class OperatorError extends SetupError {
  override readonly name = 'OperatorError'
}

type Failure = {
  readonly kind: string
  readonly reason?: string
  readonly issues?: Invalid['issues']
}

/** Returns the value, or throws an OperatorError of the form `<failure>: <reason>`. */
export const orFail = <T>(call: Promise<T>, failure: string): Promise<T> =>
  valueOr(call, (error) => new OperatorError(`${failure}: ${reasonOf(error)}`))

function reasonOf({ kind, reason, issues }: Failure) {
  if (issues) return textOfIssues(issues)
  if (reason !== undefined) return reason
  if (kind === 'agent_not_stopped') return 'stop the agent before you change its runtime'
  if (kind === 'too_many_keys')
    return 'the project has the maximum number of valid keys; see `keys list` and `keys revoke`'
  return kind.replaceAll('_', ' ') // such as `agent not found`
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
