import { failedRun, type RunOutcome } from '@org/agent-messaging-core/runtime'
import { ABORTED } from '../exchange.js'
import { Fault } from '../fault.js'
import { ModelError } from './model-error.js'
import { retryIn, unreachedRun } from '../run-outcome.js'
import { TooLarge } from './streamed-response.js'

/** A retry after one of these statuses can succeed. The same holds for every 5xx. */
const RETRYABLE_STATUS = new Set([408, 409, 425, 429])
const MAX_TEXT_LENGTH = 500
const NOT_TOLD = { status: undefined, retryAfter: null }

/** Turns an error from a request to the model into the run's outcome. Masks all `secrets` in it. */
export function chatFailure(
  thrown: unknown,
  signal: AbortSignal,
  secrets: readonly string[],
): RunOutcome {
  const error: unknown = signal.aborted ? signal.reason : thrown
  if (error instanceof TooLarge) return failedRun('RESPONSE_INVALID', error.message)
  if (error instanceof Fault) return unreachedRun(error.outcome)
  if (signal.aborted) return unreachedRun(ABORTED)
  if (error instanceof SyntaxError)
    return failedRun('RESPONSE_INVALID', "the model server's response is not valid JSON")
  const text = safeText(error instanceof Error ? error.message : String(error), secrets)
  const message = `the request to the model failed: ${text}`
  const { status, retryAfter } = error instanceof ModelError ? error : NOT_TOLD
  const isFinal = status !== undefined && status < 500 && !RETRYABLE_STATUS.has(status)
  if (isFinal) return failedRun('RUNTIME_ERROR', message)
  return {
    ...failedRun('RUNTIME_ERROR', message, true),
    ...retryIn(retryAfter, Date.now()),
  }
}

/** Masks secrets in a server's text, shortens it, and replaces characters that cannot be stored. */
function safeText(text: string, secrets: readonly string[]) {
  const masked = secrets.reduce((rest, secret) => rest.replaceAll(secret, '***'), text)
  const cut = masked.length > MAX_TEXT_LENGTH ? `${masked.slice(0, MAX_TEXT_LENGTH)}…` : masked
  return cut.replace(/\p{Cc}+/gu, ' ').replace(/\p{Surrogate}/gu, '\uFFFD')
}
