import { failedRun, type RunOutcome } from '@org/agent-messaging-core/runtime'
import { GIVEN_UP } from './exchange.js'
import { Fault } from './fault.js'
import { retryIn, unreachedRun } from './run-answer.js'
import { TooLarge } from './streamed-answer.js'

/** These say "not now": the same request may well succeed later. Every 5xx is one of them too. */
const RETRYABLE_STATUS = new Set([408, 409, 425, 429])
const MAX_TEXT_LENGTH = 500

/** What it means for the run that asking the server threw; `secrets` do not come to light in it, whatever the server says. */
export function chatFailure(
  thrown: unknown,
  signal: AbortSignal,
  secrets: readonly string[],
): RunOutcome {
  const error: unknown = signal.aborted ? signal.reason : thrown
  const fault = [error, causeOf(error)].find((it) => it instanceof Fault)
  if (fault instanceof TooLarge) return failedRun('RESPONSE_INVALID', fault.message)
  if (fault) return unreachedRun(fault.outcome)
  if (signal.aborted) return unreachedRun(GIVEN_UP)
  if (error instanceof SyntaxError)
    return failedRun('RESPONSE_INVALID', "the server's answer is not JSON")
  const text = readable(error instanceof Error ? error.message : String(error), secrets)
  const status = statusOf(error)
  const isFinal = status !== undefined && status < 500 && !RETRYABLE_STATUS.has(status)
  if (isFinal) return failedRun('RUNTIME_ERROR', `the server failed: ${text}`)
  return {
    ...failedRun('RUNTIME_ERROR', `the server failed: ${text}`, true),
    ...retryIn(retryAfterOf(error), Date.now()),
  }
}

const retryAfterOf = (error: unknown): unknown =>
  error instanceof Error && 'headers' in error && error.headers instanceof Headers
    ? error.headers.get('retry-after')
    : undefined

/** Of an answer that the server gave, as the SDK and our own errors have it. */
const statusOf = (error: unknown): number | undefined =>
  error instanceof Error && 'status' in error && typeof error.status === 'number'
    ? error.status
    : undefined

const causeOf = (error: unknown): unknown => (error instanceof Error ? error.cause : undefined)

/** Cleaned and cut: what servers say goes into the store and to callers. */
function readable(text: string, secrets: readonly string[]): string {
  const discreet = secrets.reduce((said, secret) => said.replaceAll(secret, '***'), text)
  const cut =
    discreet.length > MAX_TEXT_LENGTH ? `${discreet.slice(0, MAX_TEXT_LENGTH)}…` : discreet
  return cut.replace(/\p{Cc}+/gu, ' ').replace(/\p{Surrogate}/gu, '\uFFFD')
}
