import type { EventPayload } from './event.js'
import { echoOf } from './event.js'
import type { Instant } from './instant.js'
import type { JsonObject } from './json.js'
import type { ExecutionPrincipal } from './principal.js'
import type { FinishedRun, RunError } from './run.js'
import type { TraceContext } from './trace.js'

/** What a client sent to an agent, with what became of it. */
export type Message = {
  readonly id: string
  readonly projectId: string
  readonly agentId: string
  readonly sessionId: string
  readonly message: string
  readonly metadata?: JsonObject
  readonly executionPrincipal: ExecutionPrincipal
  /** Digest of the request; tells a reuse of the key with another body. */
  readonly fingerprint?: string
  /** Of the request that made it; its runs and deliveries belong to the same trace. */
  readonly trace?: TraceContext
  /** Runs begun so far, counted durably before each run: what `maxAttempts: 1` rests on. */
  readonly attempt: number
  readonly state: MessageState
  readonly createdAt: Instant
}

/** S§3 has two words on the wire; inside, `pending` is all but `responded`. */
export type MessageState =
  | { readonly kind: 'queued'; readonly notBefore: Instant }
  | { readonly kind: 'running'; readonly startedAt: Instant }
  | { readonly kind: 'deferred'; readonly startedAt: Instant; readonly deadlineAt: Instant }
  | {
      readonly kind: 'responded'
      readonly response: string
      readonly respondedAt: Instant
      readonly responseTimeMs: number
    }
  | { readonly kind: 'failed'; readonly error: RunError; readonly failedAt: Instant }
  | { readonly kind: 'cancelled'; readonly cancelledAt: Instant }

export type MessageStateKind = MessageState['kind']
/** What a finished run may turn a message into. */
export type AfterRun = Extract<MessageState, { kind: 'queued' | 'responded' | 'failed' }>
export type CancelledState = Extract<MessageState, { kind: 'cancelled' }>
export type DeferredState = Extract<MessageState, { kind: 'deferred' }>
export type RunningMessage = Message & {
  readonly state: Extract<MessageState, { kind: 'running' | 'deferred' }>
}

type FailedRun = Extract<FinishedRun, { kind: 'failed' }>

/** Nothing becomes of it by itself any more; a failed or cancelled one can be retried. */
export const isFinal = (
  state: MessageState,
): state is Extract<MessageState, { kind: 'responded' | 'failed' | 'cancelled' }> =>
  state.kind === 'responded' || state.kind === 'failed' || state.kind === 'cancelled'

export const isRetryable = ({ kind }: MessageState): boolean =>
  kind === 'failed' || kind === 'cancelled'

const CANCELLED: RunError = { code: 'CANCELLED', message: 'the message was cancelled' }

/** Why a message has ended without an answer. */
export function errorOf(state: MessageState): RunError | undefined {
  if (state.kind === 'failed') return state.error
  return state.kind === 'cancelled' ? CANCELLED : undefined
}

/** The wire status (S§3). */
export const statusOf = (state: MessageState): 'responded' | 'pending' =>
  state.kind === 'responded' ? 'responded' : 'pending'

/** `backoffMs[n]` is the wait after failed run n+1 (its last entry repeats); jitter lengthens it by up to that share. */
export type DispatchPolicy = {
  readonly backoffMs: readonly number[]
  readonly jitter: number
  /** Deadline of one run. */
  readonly runTimeoutMs: number
  /** How long a deferred run may take to call back. */
  readonly deferredTimeoutMs: number
}

export const defaultDispatchPolicy: DispatchPolicy = {
  backoffMs: [1_000, 5_000, 30_000],
  jitter: 0.2,
  runTimeoutMs: 10 * 60_000,
  deferredTimeoutMs: 60 * 60_000,
}

/** No agent holds up a session for longer than this by asking for time. */
const MAX_RETRY_IN_MS = 60 * 60_000

/** Answered → responded with `message.responded`; retryable with attempts left → queued, no event; else failed with `agent.error`. */
export function decideAfterRun(
  message: RunningMessage,
  run: FinishedRun,
  policy: DispatchPolicy & { readonly maxAttempts: number },
  now: Instant,
  random: number,
): { state: AfterRun; event?: EventPayload } {
  if (run.kind === 'answered') return responded(message, run.response, now)
  if (run.retryable && message.attempt < policy.maxAttempts) {
    const delay = delayOf(message.attempt, run, policy) * (1 + policy.jitter * random)
    return { state: { kind: 'queued', notBefore: now + Math.round(delay) } }
  }
  return {
    state: { kind: 'failed', error: run.error, failedAt: now },
    event: endedWithout(message, run.error),
  }
}

/** What the agent asks for only ever lengthens the backoff. */
function delayOf(
  attempt: number,
  { retryInMs = 0 }: FailedRun,
  { backoffMs }: DispatchPolicy,
): number {
  const backoff = backoffMs[Math.min(attempt, backoffMs.length) - 1] ?? 0
  return retryInMs > backoff ? Math.min(retryInMs, MAX_RETRY_IN_MS) : backoff
}

/** Receivers hear of a message that will have no answer, whoever ended it. */
export const decideCancellation = (
  message: Message,
  now: Instant,
): { state: CancelledState; event: EventPayload } => ({
  state: { kind: 'cancelled', cancelledAt: now },
  event: endedWithout(message, CANCELLED),
})

const endedWithout = (
  { agentId, id: messageId, sessionId, executionPrincipal, metadata }: Message,
  error: RunError,
): EventPayload => ({
  event: 'agent.error',
  data: { agentId, error, messageId, sessionId, executionPrincipal, ...echoOf(metadata) },
})

function responded(
  message: RunningMessage,
  response: string,
  now: Instant,
): { state: AfterRun; event: EventPayload } {
  const { agentId, id: messageId, sessionId, executionPrincipal } = message
  const responseTimeMs = Math.max(0, now - message.state.startedAt)
  return {
    state: { kind: 'responded', response, respondedAt: now, responseTimeMs },
    event: {
      event: 'message.responded',
      data: {
        messageId,
        agentId,
        sessionId,
        response,
        executionPrincipal,
        ...echoOf(message.metadata),
        responseTimeMs,
      },
    },
  }
}
