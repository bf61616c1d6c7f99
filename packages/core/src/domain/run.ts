/** Why a run, or an agent as a whole, failed. The code is ours, the message may be the agent's. */
export type RunError = {
  readonly code:
    | 'RUNTIME_ERROR' // the agent said so, or threw
    | 'RUNTIME_TIMEOUT' // no answer within the run's deadline
    | 'RUNTIME_LOST' // the process that ran it ended
    | 'RUNTIME_EXITED' // the runtime itself ended or could not start
    | 'RUNTIME_UNHEALTHY' // it runs, but said several times in a row that it is not well, or said nothing
    | 'RESPONSE_INVALID' // not a string, too long, or not storable
    | 'CANCELLED' // somebody who may send messages ended this one
  readonly message: string
}

/** What one run came to, but for `deferred`, which has come to nothing yet. `retryInMs`: sooner the agent does not want to be tried again. */
export type FinishedRun =
  | { readonly kind: 'answered'; readonly response: string }
  | {
      readonly kind: 'failed'
      readonly error: RunError
      readonly retryable: boolean
      readonly retryInMs?: number
    }

/** `deferred`: the runtime took the message and answers later, by callback, within `deadlineMs` (the service's default if absent). */
export type RunOutcome = FinishedRun | { readonly kind: 'deferred'; readonly deadlineMs?: number }

export const failedRun = (
  code: RunError['code'],
  message: string,
  retryable = false,
): FinishedRun => ({
  kind: 'failed',
  error: { code, message },
  retryable,
})

/** What was thrown, in words, whatever it is: also what throws when it is asked for them, as an agent's own code may. */
export function wordsOf(thrown: unknown): string {
  try {
    return String(thrown)
  } catch {
    return 'what was thrown has no words for itself'
  }
}
