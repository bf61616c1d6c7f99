import {
  beginningOf,
  failedRun,
  isJsonObject,
  isStorableText,
  type FinishedRun,
} from '@org/agent-messaging-core/runtime'
import { RequestError } from './acp-sdk.js'
import { RESPONSE_TOO_LONG } from './acp-stream.js'

/** The agent did not answer a request in time. */
export class AgentTimeout extends Error {
  override readonly name = 'AgentTimeout'
}

/** The agent's response violates the protocol. */
export class InvalidResponse extends Error {
  override readonly name = 'InvalidResponse'
}

const MAX_ERROR_LENGTH = 1_000
const AUTH_REQUIRED = RequestError.authRequired().code
const INTERNAL_ERROR = RequestError.internalError().code
const NOT_FOUND = RequestError.resourceNotFound().code

/** True if the agent has dropped the session. Another missing resource has the same code. */
export const isSessionUnknown = (error: unknown): boolean =>
  error instanceof RequestError && error.code === NOT_FOUND

/** Turns an error into the outcome of a run. `logins` are the agent's login methods. */
export function failureOf(error: unknown, logins: readonly string[]): FinishedRun {
  const reason = reasonOf(error)
  if (error instanceof AgentTimeout) return failedRun('RUNTIME_TIMEOUT', reason, true)
  if (error instanceof InvalidResponse) return failedRun('RESPONSE_INVALID', reason)
  if (!(error instanceof RequestError)) return failedRun('RUNTIME_ERROR', reason, true)
  if (error.code === RESPONSE_TOO_LONG) return failedRun('RESPONSE_INVALID', reason)
  if (error.code === AUTH_REQUIRED) return failedRun('RUNTIME_ERROR', loginRequired(reason, logins))
  const retryable = error.code === INTERNAL_ERROR || isSessionUnknown(error)
  return failedRun('RUNTIME_ERROR', reason, retryable)
}

/** A login that needs a browser must take place before. */
function loginRequired(reason: string, logins: readonly string[]) {
  const choice =
    logins.length > 0 ? `, or set the program's login to one of: ${logins.join(', ')}` : ''
  return storable(`the agent requires a login (${reason}). Log in to the program first${choice}`)
}

/** Returns the agent's own words if it sent any. The SDK puts thrown errors into `data.details`. */
export function reasonOf(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error)
  const details =
    error instanceof RequestError && isJsonObject(error.data) ? error.data['details'] : undefined
  return storable(typeof details === 'string' ? `${message}: ${details}` : message)
}

export function storable(text: string): string {
  const short = beginningOf(text, MAX_ERROR_LENGTH)
  return isStorableText(short) ? short : 'the agent failed with a text that cannot be stored'
}
