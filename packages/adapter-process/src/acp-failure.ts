import { RequestError } from '@agentclientprotocol/sdk'
import {
  beginningOf,
  failedRun,
  isJsonObject,
  isStorableText,
  type FinishedRun,
} from '@org/agent-messaging-core/runtime'

/** The agent was asked and said nothing in time. */
export class AgentLate extends Error {
  override readonly name = 'AgentLate'
}

/** The agent's answer is not what the protocol says. */
export class AnswerInvalid extends Error {
  override readonly name = 'AnswerInvalid'
}

const MAX_ERROR_LENGTH = 1_000
const AUTH_REQUIRED = RequestError.authRequired().code
const INTERNAL_ERROR = RequestError.internalError().code
const NOT_FOUND = RequestError.resourceNotFound().code

/** The agent has let go of the session; or has not found something else, which it says the same way. */
export const isSessionUnknown = (error: unknown): boolean =>
  error instanceof RequestError && error.code === NOT_FOUND

/** What a run comes to when it could not be had an answer for; `logins` are the ids of the ways to log in that the agent offers. */
export function failureOf(error: unknown, logins: readonly string[]): FinishedRun {
  const reason = reasonOf(error)
  if (error instanceof AgentLate) return failedRun('RUNTIME_TIMEOUT', reason, true)
  if (error instanceof AnswerInvalid) return failedRun('RESPONSE_INVALID', reason)
  if (!(error instanceof RequestError)) return failedRun('RUNTIME_ERROR', reason, true)
  if (error.code === AUTH_REQUIRED) return failedRun('RUNTIME_ERROR', loginNeeded(reason, logins))
  return failedRun(
    'RUNTIME_ERROR',
    reason,
    error.code === INTERNAL_ERROR || isSessionUnknown(error),
  )
}

/** Which of the agent's logins to take is the operator's to say, and what needs a browser is his to do beforehand. */
function loginNeeded(reason: string, logins: readonly string[]): string {
  const offer = logins.length > 0 ? `; it offers: ${logins.join(', ')}` : ''
  return storable(
    `the agent wants a login, which its program's entry does not name or make (${reason})${offer}`,
  )
}

/** In the agent's words, where it has any. The SDK puts what an agent threw into `data.details`. */
export function reasonOf(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error)
  const details =
    error instanceof RequestError && isJsonObject(error.data) ? error.data['details'] : undefined
  return storable(typeof details === 'string' ? `${message}: ${details}` : message)
}

export function storable(text: string): string {
  const short = beginningOf(text, MAX_ERROR_LENGTH)
  return isStorableText(short) ? short : 'the agent gave a reason that cannot be stored'
}
