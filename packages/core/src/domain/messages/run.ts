import type { AskingRun } from './message-input.js'
import type { RunUsage } from '../operations/usage.js'

export const RUN_ERROR_CODES = [
  'RUNTIME_ERROR', // the agent reported it, or threw
  'RUNTIME_TIMEOUT', // no answer within the run's deadline
  'RUNTIME_LOST', // the process of the run ended
  'RUNTIME_EXITED', // the runtime ended or could not start
  'RUNTIME_UNHEALTHY', // the agent failed several health checks in a row
  'RESPONSE_INVALID', // not a string, too long, not storable, or not as `responseSchema` says
  'CANCELLED', // a caller cancelled the message
  'QUESTION_INVALID', // the agent asked a question that cannot be asked
  'INPUT_EXPIRED', // the question had no answer at its deadline
  'INPUT_WITHDRAWN', // a caller withdrew the question
  'INPUT_MISMATCH', // the agent asked another question than the one that was answered
] as const

/** Why a run or an agent failed. The service sets the code. The message can be the agent's. */
export type RunError = {
  readonly code: (typeof RUN_ERROR_CODES)[number]
  readonly message: string
}

/**
 * The outcome of a run, except `deferred`. `retryInMs` is the agent's wish for the pause before
 * the next run. `usage` has the tokens of a model that the run used.
 */
export type FinishedRun =
  | { readonly kind: 'answered'; readonly response: string; readonly usage?: RunUsage | undefined }
  | {
      readonly kind: 'failed'
      readonly error: RunError
      readonly retryable: boolean
      readonly retryInMs?: number
      readonly usage?: RunUsage | undefined
    }

/** The outcome of a run that has ended: its answer, its failure or its question. */
export type EndedRun = FinishedRun | (AskingRun & { readonly usage?: RunUsage | undefined })

/**
 * `deferred`: the runtime accepted the message and answers later, by callback, within `deadlineMs`
 * or the service's default.
 */
export type RunOutcome = EndedRun | { readonly kind: 'deferred'; readonly deadlineMs?: number }

export const failedRun = (
  code: RunError['code'],
  message: string,
  retryable = false,
): FinishedRun => ({
  kind: 'failed',
  error: { code, message },
  retryable,
})

/**
 * Returns the text of a thrown value, even if reading that text throws, as an agent's code can
 * cause.
 */
export function wordsOf(thrown: unknown): string {
  try {
    return String(thrown)
  } catch {
    return 'the thrown value has no text'
  }
}
