import { ApiError } from '@org/agent-messaging-client'
import { OperatorError, textOfIssues } from '../operator-error.js'

/** Why a command failed that the API did not refuse. `orRefusal` adds the command. */
export class Reason extends Error {
  override readonly name = 'Reason'
}

/**
 * Returns the answer, or throws an OperatorError of the form `<failure>: <reason>`. `advice`
 * follows the reason if no server responds.
 */
export async function orRefusal<T>(answer: Promise<T>, failure: string, advice = ''): Promise<T> {
  try {
    return await answer
  } catch (error) {
    const reason = reasonOf(error, advice)
    throw reason === undefined ? error : new OperatorError(`${failure}: ${reason}`)
  }
}

/** Returns undefined if the API key lacks the permission. */
export const ifAllowed = <T>(answer: Promise<T>): Promise<T | undefined> =>
  answer.catch((error: unknown): undefined => {
    if (!(error instanceof ApiError) || error.code !== 'FORBIDDEN') throw error
  })

/** Undefined for an error of a program. */
function reasonOf(error: unknown, advice: string) {
  if (error instanceof ApiError) return reasonOfRefusal(error)
  if (error instanceof Reason) return error.message
  if (!(error instanceof TypeError)) return undefined
  const { cause } = error
  if (!(cause instanceof Error)) return error.message
  const { code = cause.message } = cause as NodeJS.ErrnoException
  return `no server responds (${code})${advice}`
}

function reasonOfRefusal({ code, issues, message }: ApiError) {
  if (issues.length > 0) return textOfIssues(issues)
  const reason = message.replace(/^[A-Z](?=[a-z ])/, (first) => first.toLowerCase())
  return code === 'UNAUTHORIZED' ? 'the server does not know this API key' : inOptions(reason)
}

/** Names the options of commands in place of parts of a URL. */
export const inOptions = (message: string) =>
  message.replace('?force=true', '--force').replace(/in the path: .*/, 'with --project')
