import type { Instant } from '../values/instant.js'
import type { Message, MessageState, RunningMessage } from './message.js'
import type { EndedRun, RunError } from './run.js'
import type { RunUsage } from '../operations/usage.js'

export const RUN_END_REASONS = [
  'answered', // the agent answered
  'input_required', // the agent asked a person
  'failed', // the agent or its runtime failed, or its answer or question was not valid
  'timed_out', // no answer within the run's deadline, or no callback within the callback's deadline
  'lost', // the process that ran it ended or stopped
  'cancelled', // a caller cancelled the message
] as const
export type RunEndReason = (typeof RUN_END_REASONS)[number]

/** A run of a message. A run without `reason` has not ended. */
export type MessageRun = {
  /** Counts the runs since the last retry by a person. */
  readonly attempt: number
  readonly startedAt: Instant
  readonly endedAt?: Instant
  readonly reason?: RunEndReason
  /** Absent if nobody reported the failure, as for a process that died. */
  readonly error?: RunError
  readonly usage?: RunUsage | undefined
}

/** A run that ended without an answer, as it is stored. The message itself has the others. */
export type PastRun = MessageRun & {
  readonly endedAt: Instant
  readonly reason: Exclude<RunEndReason, 'answered'>
}

/** Returns a run that ends with this outcome, or undefined if the outcome is an answer. */
export function pastRun(
  { attempt, state: { startedAt } }: RunningMessage,
  run: EndedRun,
  endedAt: Instant,
): PastRun | undefined {
  if (run.kind === 'answered') return undefined
  const { usage } = run
  const ended = { attempt, startedAt, endedAt, usage }
  if (run.kind === 'input_required') return { ...ended, reason: run.kind }
  const { error } = run
  return { ...ended, reason: REASONS[error.code] ?? 'failed', error }
}

const REASONS: Partial<Record<RunError['code'], PastRun['reason']>> = {
  RUNTIME_TIMEOUT: 'timed_out',
  RUNTIME_LOST: 'lost',
}

type GoingOn = { readonly kind: 'running' | 'deferred'; readonly startedAt: Instant }

/**
 * Returns the run that ends without an outcome, because another claim takes over the message or a
 * caller cancels it. Returns undefined if no run goes on.
 */
export function interruptedRun(
  { attempt, state }: Pick<Message, 'attempt'> & { readonly state: MessageState | GoingOn },
  endedAt: Instant,
  by?: 'cancelled',
): PastRun | undefined {
  if (state.kind !== 'running' && state.kind !== 'deferred') return undefined
  const reason = by ?? (state.kind === 'running' ? 'lost' : 'timed_out')
  return { attempt, startedAt: state.startedAt, endedAt, reason }
}

/** Returns all runs of a message, oldest first. */
export function runsOf(
  { attempt, state }: Pick<Message, 'attempt' | 'state'>,
  past: readonly PastRun[],
): MessageRun[] {
  switch (state.kind) {
    case 'running':
    case 'deferred':
      return [...past, { attempt, startedAt: state.startedAt }]
    case 'responded': {
      const { respondedAt: endedAt, responseTimeMs, usage } = state
      const startedAt = endedAt - responseTimeMs
      const answered = { attempt, startedAt, endedAt, reason: 'answered' } as const
      return [...past, usage ? { ...answered, usage } : answered]
    }
    default:
      return [...past]
  }
}
