import type { DispatchPolicy } from '../../domain/messages/message.js'
import {
  failedRun,
  type EndedRun,
  type FinishedRun,
  type RunOutcome,
} from '../../domain/messages/run.js'
import type { ClaimedMessage } from '../../ports/message-store.js'

/**
 * Why a run is aborted. `lost`: another process has its lease. `cancelled`: the message is final or
 * erased. `drain`: the process stops.
 */
export type AbortReason = 'timeout' | 'lost' | 'cancelled' | 'drain'

export type Conclusion =
  /** The outcome is not stored. `isRefused`: report it. */
  | { readonly kind: 'discard'; readonly isRefused: boolean }
  | { readonly kind: 'defer'; readonly waitMs: number }
  | { readonly kind: 'settle'; readonly run: EndedRun }

/**
 * Decides what to do with a run's outcome. An answer or a question counts even if the run timed out
 * or the process stops. `outcome` is undefined if the agent did not run or did not end after an
 * abort.
 */
export function concludeRun(
  outcome: RunOutcome | undefined,
  reason: AbortReason | undefined,
  { runTimeoutMs, deferredTimeoutMs }: DispatchPolicy,
): Conclusion {
  const isAnswer = outcome?.kind === 'answered' || outcome?.kind === 'input_required'
  if (reason === 'lost') return { kind: 'discard', isRefused: true }
  if (reason === 'cancelled') return { kind: 'discard', isRefused: isAnswer }
  if (outcome?.kind === 'deferred')
    return { kind: 'defer', waitMs: deferralMs(outcome.deadlineMs, deferredTimeoutMs) }
  if (reason && !isAnswer) return { kind: 'settle', run: abortedRun(reason, runTimeoutMs) }
  return { kind: 'settle', run: outcome ?? abortedRun('drain', runTimeoutMs) }
}

/** The store takes whole milliseconds only, and a runtime can ask for any number. */
function deferralMs(askedMs: number | undefined, longestMs: number): number {
  const waitMs = Math.trunc(Math.min(askedMs ?? Infinity, longestMs))
  return waitMs >= 0 ? waitMs : longestMs
}

const abortedRun = (reason: 'timeout' | 'drain', timeoutMs: number): FinishedRun =>
  reason === 'timeout'
    ? failedRun('RUNTIME_TIMEOUT', `no answer within ${timeoutMs} ms`, true)
    : failedRun('RUNTIME_LOST', 'the server stopped during the run', true)

/**
 * The outcome of a claim of a message without attempts left. The last attempt was lost, or it
 * failed before `maxAttempts` was lowered.
 */
export function exhaustedRun(lost: ClaimedMessage['lost']): FinishedRun {
  if (lost === 'deferred')
    return failedRun('RUNTIME_TIMEOUT', 'the runtime did not call back in time')
  if (lost === 'running') return failedRun('RUNTIME_LOST', 'the process that ran it ended')
  return failedRun('RUNTIME_ERROR', 'the last attempt failed, and the agent allows no other')
}
